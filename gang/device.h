// Where a tensor's memory is, which decides the backend that moves it.
#pragma once

#include <cstdint>
#include <string>

namespace gang {

enum class DeviceType : std::uint8_t { cpu, cuda };

struct Device {
  DeviceType type = DeviceType::cpu;
  std::int32_t index = 0;

  // Both fields in one comparison: every call compares a device or two.
  friend bool operator==(const Device& a, const Device& b) noexcept {
    return ((a.index ^ b.index) | (static_cast<int>(a.type) ^ static_cast<int>(b.type))) == 0;
  }
};

// "cpu", "cuda:1".
std::string to_string(Device device);

}  // namespace gang
