#include "sim/schedule/schedule.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "gang/enum_names.h"
#include "gang/error.h"

namespace gang::sim {
namespace {

constexpr std::string_view header = "gangsim-schedule 1 ";

constexpr auto scheduler_kinds =
    names_in_order<SchedulerKind>("round_robin", "random", "replay", "guided");

constexpr auto switch_points = names_in_order<SwitchPoints>("blocking_calls", "all_calls",
                                                            "calls_and_looks", "calls_and_tries");

// Parses a text from left to right; errors give the position.
class Reader {
 public:
  explicit Reader(std::string_view text) noexcept : text_(text) {}

  bool at_end() const noexcept { return position_ == text_.size(); }

  bool skip(std::string_view expected) noexcept {
    if (!text_.substr(position_).starts_with(expected)) return false;
    position_ += expected.size();
    return true;
  }

  void expect(std::string_view expected) {
    if (!skip(expected)) fail(fmt::format("'{}'", expected));
  }

  template <typename T>
  T number() {
    T value{};
    const char* begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc{}) fail("a number");
    position_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  [[noreturn]] void fail(std::string_view accepted) const {
    throw InvalidArgument(
        fmt::format("schedule is malformed at character {}: expected {}", position_ + 1, accepted));
  }

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace

std::string_view to_string(SchedulerKind kind) noexcept { return name_of(scheduler_kinds, kind); }

std::optional<SchedulerKind> parse_scheduler_kind(std::string_view text) noexcept {
  return parse_name(scheduler_kinds, text);
}

std::string to_string(const Schedule& schedule) {
  std::string text = fmt::format("{}{}", header, name_of(switch_points, schedule.switch_points));
  for (const Choice& choice : schedule.choices)
    fmt::format_to(std::back_inserter(text), " {}/{}", choice.task, choice.runnable);
  text += " ;";
  for (const std::uint64_t draw : schedule.draws)
    fmt::format_to(std::back_inserter(text), " {}", draw);
  return text;
}

Schedule parse_schedule(std::string_view text) {
  Reader reader(text);
  reader.expect(header);
  Schedule schedule;
  const auto named = std::ranges::find_if(
      switch_points, [&reader](const auto& points) { return reader.skip(points.name); });
  if (named == switch_points.end()) reader.fail("one of " + list_names(switch_points));
  schedule.switch_points = named->value;
  while (!reader.skip(" ;")) {
    reader.expect(" ");
    Choice choice;
    choice.task = reader.number<TaskId>();
    reader.expect("/");
    choice.runnable = reader.number<std::uint32_t>();
    schedule.choices.push_back(choice);
  }
  while (!reader.at_end()) {
    reader.expect(" ");
    schedule.draws.push_back(reader.number<std::uint64_t>());
  }
  return schedule;
}

}  // namespace gang::sim
