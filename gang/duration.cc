#include "gang/duration.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

namespace gang {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanoseconds;
};

// From large to small. An hour reads well only from two hours on: timeouts are said in minutes.
constexpr std::array units = {
    Unit{"h", 3'600'000'000'000}, Unit{"min", 60'000'000'000}, Unit{"s", 1'000'000'000},
    Unit{"ms", 1'000'000},        Unit{"us", 1'000},           Unit{"ns", 1}};

const Unit& unit_of(std::int64_t magnitude) {
  for (const Unit& unit : units) {
    const std::int64_t least = unit.name == "h" ? 2 * unit.nanoseconds : unit.nanoseconds;
    if (magnitude >= least) return unit;
  }
  return units.back();
}

}  // namespace

std::string to_string(Duration duration) {
  if (duration == no_timeout) return "no timeout";
  if (duration == Duration::zero()) return "0 s";
  const std::int64_t count = duration.count();
  const Unit& unit = unit_of(count < 0 ? -(count + 1) : count);
  const double value = static_cast<double>(count) / static_cast<double>(unit.nanoseconds);
  std::string text = fmt::format("{:.3f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " " + std::string(unit.name);
}

}  // namespace gang
