#include "harness/text/duration_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

struct Unit {
  std::string_view name;
  Duration length;
};

// Longest first.
constexpr std::array units = {
    Unit{"h", std::chrono::hours{1}},         Unit{"min", std::chrono::minutes{1}},
    Unit{"s", std::chrono::seconds{1}},       Unit{"ms", std::chrono::milliseconds{1}},
    Unit{"us", std::chrono::microseconds{1}}, Unit{"ns", std::chrono::nanoseconds{1}}};

[[noreturn]] void reject(std::string_view text) {
  throw InvalidArgument(fmt::format(
      "duration '{}' is not understood; accepted: a number with ns, us, ms, s, min or h (\"5 ms\", "
      "\"1.5s\"), or none",
      text));
}

}  // namespace

Duration parse_duration(std::string_view text) {
  if (text == "none") return no_timeout;
  double amount = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, amount, std::chars_format::fixed);
  if (error != std::errc{} || !(amount >= 0)) reject(text);
  std::string_view unit_name{stop, static_cast<std::size_t>(end - stop)};
  while (unit_name.starts_with(' ')) unit_name.remove_prefix(1);
  std::uint64_t whole = 0;  // exact where a double is not
  const bool is_whole = std::from_chars(text.data(), end, whole).ptr == stop;
  for (const Unit& unit : units) {
    if (unit_name != unit.name) continue;
    const double nanoseconds = amount * static_cast<double>(unit.length.count());
    if (nanoseconds > 9e18) reject(text);
    return is_whole ? unit.length * static_cast<std::int64_t>(whole)
                    : Duration{std::llround(nanoseconds)};
  }
  reject(text);
}

std::string to_duration_text(Duration duration) {
  if (duration == no_timeout) return "none";
  for (const Unit& unit : units) {
    if (duration.count() != 0 && duration % unit.length == Duration::zero()) {
      return fmt::format("{}{}", duration / unit.length, unit.name);
    }
  }
  return "0s";
}

}  // namespace gang::harness
