// Where a tensor's memory is, which decides the backend that moves it.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

namespace gang {

enum class DeviceType : std::int32_t { cpu, cuda };

struct Device {
  DeviceType type = DeviceType::cpu;
  std::int32_t index = 0;

  // Both fields in one comparison: every call compares a device or two.
  friend bool operator==(const Device& a, const Device& b) noexcept {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }
};

// "cpu", "cuda:1".
std::string to_string(Device device);

}  // namespace gang
