// Where a tensor's memory is, which decides the backend that moves it.
#pragma once

#include <cstdint>
#include <string>

namespace gang {

enum class DeviceType : std::uint8_t { cpu, cuda };

struct Device {
  DeviceType type = DeviceType::cpu;
  std::int32_t index = 0;

  friend bool operator==(const Device&, const Device&) = default;
};

// "cpu", "cuda:1".
std::string to_string(Device device);

}  // namespace gang
