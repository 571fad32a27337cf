#include "harness/program/rank_log.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <ostream>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/text/number_text.h"

namespace gang::harness {
namespace {

constexpr int last_of_any_world = std::numeric_limits<int>::max();

// What is before the first `separator`; `text` keeps what is after it, if there is one.
std::string_view take_until(char separator, std::optional<std::string_view>& text) {
  const std::size_t place = text->find(separator);
  const std::string_view taken = text->substr(0, place);
  if (place == std::string_view::npos)
    text.reset();
  else
    text->remove_prefix(place + 1);
  return taken;
}

}  // namespace

RankSelection::RankSelection(std::string_view text) : text_(text) {
  if (text == "none") return;
  if (text == "all") {
    ranges_.push_back({0, last_of_any_world, 1});
    return;
  }
  for (std::optional rest = text; rest;)
    ranges_.push_back(parse_range(take_until(',', rest), text));
}

RankSelection::Range RankSelection::parse_range(std::string_view text, std::string_view whole) {
  const auto number = [whole](std::string_view part) {
    if (const auto parsed = parse_number<int>(part); parsed && *parsed >= 0) return *parsed;
    throw InvalidArgument(fmt::format(
        "ranks are '{}'; must be all, none, or ranks and ranges as 0,8-11,16-31:2", whole));
  };
  std::optional rest = text;
  const std::string_view ends = take_until(':', rest);
  const int stride = rest ? number(*rest) : 1;
  std::optional last = ends;
  const int first = number(take_until('-', last));
  const Range range{first, last ? number(*last) : first, stride};
  if (range.last < range.first || stride < 1 || (rest && !last)) number("");
  return range;
}

bool RankSelection::contains(int rank) const noexcept {
  return std::ranges::any_of(ranges_, [rank](const Range& range) {
    return rank >= range.first && rank <= range.last && (rank - range.first) % range.stride == 0;
  });
}

void RankSelection::check_within(int world_size) const {
  for (const Range& range : ranges_) {
    if (range.last < world_size || range.last == last_of_any_world) continue;
    throw InvalidArgument(
        fmt::format("'{}' names rank {}; ranks are 0 to {}", text_, range.last, world_size - 1));
  }
}

void RankLog::write(int rank, std::string_view line) const {
  const std::string text = fmt::format("[{}] {}\n", rank, line);
  const std::lock_guard lock(mutex_);
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  out_.flush();
}

}  // namespace gang::harness
