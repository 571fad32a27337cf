#include "gang/duration.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang {
namespace {

struct Unit {
  std::string_view name;
  Duration length;
};

// From large to small. Hours read well only from two hours on; timeouts are stated in minutes.
constexpr std::array units = {
    Unit{"h", std::chrono::hours{1}},         Unit{"min", std::chrono::minutes{1}},
    Unit{"s", std::chrono::seconds{1}},       Unit{"ms", std::chrono::milliseconds{1}},
    Unit{"us", std::chrono::microseconds{1}}, Unit{"ns", std::chrono::nanoseconds{1}}};

// An hour reads well only from two hours on: timeouts are given in minutes.
const Unit& unit_of(Duration magnitude) {
  for (const Unit& unit : units)
    if (magnitude >= (unit.name == "h" ? 2 : 1) * unit.length) return unit;
  return units.back();
}

}  // namespace

std::string to_string(Duration duration) {
  if (duration == no_timeout) return "no timeout";
  if (duration == Duration::zero()) return "0 s";
  const Unit& unit = unit_of(duration < Duration::zero() ? -(duration + Duration{1}) : duration);
  const double value =
      static_cast<double>(duration.count()) / static_cast<double>(unit.length.count());
  std::string text = fmt::format("{:.3f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text + " " + std::string(unit.name);
}

std::string to_duration_text(Duration duration) {
  if (duration == no_timeout) return "none";
  for (const Unit& unit : units)
    if (duration.count() != 0 && duration % unit.length == Duration::zero())
      return fmt::format("{}{}", duration / unit.length, unit.name);
  return "0s";
}

Duration parse_duration(std::string_view text) {
  if (text == "none") return no_timeout;
  double amount = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, amount, std::chars_format::fixed);
  std::string_view unit_name{stop, static_cast<std::size_t>(end - stop)};
  while (unit_name.starts_with(' ')) unit_name.remove_prefix(1);
  std::int64_t whole = 0;  // exact where a double is not
  const bool is_whole = std::from_chars(text.data(), end, whole).ptr == stop;
  for (const Unit& unit : units) {
    const double nanoseconds = amount * static_cast<double>(unit.length.count());
    if (error != std::errc{} || unit_name != unit.name || !(amount >= 0) || nanoseconds > 9e18)
      continue;
    return is_whole ? unit.length * whole : Duration{std::llround(nanoseconds)};
  }
  throw InvalidArgument(
      fmt::format("duration is '{}'; must be a number with ns, us, ms, s, min or h (\"5 ms\", "
                  "\"1.5s\"), or none",
                  text));
}

double to_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace gang
