#include "properties/reproduce_token.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::properties {
namespace {

constexpr std::size_t most_shrink_steps = 1'000'000;

[[noreturn]] void reject(std::string_view text, std::string_view part) {
  throw InvalidArgument(
      fmt::format("'{}' is not a reproduce token: {} is wrong; expected "
                  "SEED-CASE-SIZE-WORLD[-PATH], as printed "
                  "by 'gangsim check'",
                  text, part));
}

template <typename Number>
Number parse_number(std::string_view digits, std::string_view text, std::string_view part) {
  Number number{};
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stop != end) reject(text, part);
  return number;
}

// Takes the part before `separator` from the front of `rest`.
std::string_view take_part(std::string_view& rest, char separator) {
  const std::size_t length = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, length);
  rest.remove_prefix(std::min(length + 1, rest.size()));
  return part;
}

std::vector<std::size_t> parse_path(std::string_view path, std::string_view text) {
  std::vector<std::size_t> steps;
  while (!path.empty()) {
    std::string_view times = take_part(path, '.');
    const std::string_view step = take_part(times, 'x');
    const auto count = times.empty() ? 1 : parse_number<std::size_t>(times, text, "the path");
    if (count == 0 || steps.size() + count > most_shrink_steps) reject(text, "the path");
    steps.insert(steps.end(), count, parse_number<std::size_t>(step, text, "the path"));
  }
  return steps;
}

}  // namespace

std::string to_string(const ReproduceToken& token) {
  std::string text =
      fmt::format("{}-{}-{}-{}", token.seed, token.case_number, token.size, token.max_world);
  const auto& path = token.shrink_path;
  for (std::size_t first = 0, next = 0; first < path.size(); first = next) {
    while (next < path.size() && path[next] == path[first]) ++next;
    text += fmt::format("{}{}", first == 0 ? '-' : '.', path[first]);
    if (next - first > 1) text += fmt::format("x{}", next - first);
  }
  return text;
}

ReproduceToken parse_reproduce_token(std::string_view text) {
  std::string_view rest = text;
  ReproduceToken token;
  token.seed = parse_number<std::uint64_t>(take_part(rest, '-'), text, "the seed");
  token.case_number = parse_number<std::uint64_t>(take_part(rest, '-'), text, "the case");
  token.size = parse_number<int>(take_part(rest, '-'), text, "the size");
  token.max_world = parse_number<int>(take_part(rest, '-'), text, "the largest world");
  if (token.case_number == 0) reject(text, "the case");
  if (token.size < 0) reject(text, "the size");
  if (token.max_world < 1) reject(text, "the largest world");
  token.shrink_path = parse_path(rest, text);
  return token;
}

}  // namespace gang::properties
