// Phrases that the texts of cases share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "sim/options/simulation_options.h"

namespace gang::properties {

// "1 step", "2 steps".
inline std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}
inline std::string counted(int count, std::string_view noun) {
  return counted(static_cast<std::size_t>(count), noun);
}

// "random schedule seed 7".
inline std::string schedule_text(sim::SchedulerKind scheduler, std::uint64_t seed) {
  return fmt::format("{} schedule seed {}", to_string(scheduler), seed);
}

}  // namespace gang::properties
