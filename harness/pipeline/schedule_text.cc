#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/pipeline/schedule.h"

namespace gang::harness {
namespace {

constexpr int most = 1 << 16;  // stages, microbatches, ranks
constexpr std::size_t most_passes = 1 << 22;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Removes what is before `separator`, or everything, from the beginning of `text`.
std::string_view take(char separator, std::string_view& text) {
  const std::size_t place = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, place);
  text.remove_prefix(std::min(place + 1, text.size()));
  return taken;
}

// Removes a number from the beginning of `text`.
std::optional<int> take_number(std::string_view& text) {
  int number = -1;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0 || number >= most) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return number;
}

std::optional<StagePass> parse_pass(std::string_view cell) {
  const auto stage = take_number(cell);
  if (!stage || cell.empty()) return std::nullopt;
  const auto pass = std::ranges::find(all_passes, cell.front(), letter_of);
  cell.remove_prefix(1);
  const auto microbatch = take_number(cell);
  if (pass == all_passes.end() || !microbatch || !cell.empty()) return std::nullopt;
  return StagePass{*stage, *microbatch, *pass};
}

std::vector<StagePass> parse_rank(std::string_view line, std::string_view source,
                                  std::size_t number) {
  std::vector<StagePass> passes;
  while (!line.empty()) {
    const std::string_view cell = trimmed(take(',', line));
    if (cell.empty()) continue;
    const auto pass = parse_pass(cell);
    if (!pass)
      throw InvalidArgument(fmt::format(
          "{}:{}: '{}' is not a pass; expected a stage, F, B, I or W, and a microbatch, as in 2F0",
          source, number, cell));
    passes.push_back(*pass);
  }
  return passes;
}

}  // namespace

PipelineSchedule parse_schedule(std::string_view text, std::string_view source) {
  PipelineSchedule schedule{.sizes = {.ranks = 0, .stages_per_rank = 0, .microbatches = 0},
                            .by_rank = {}};
  int stages = 0;
  std::size_t passes = 0;
  for (std::size_t line = 1; !text.empty(); ++line) {
    schedule.by_rank.push_back(parse_rank(take('\n', text), source, line));
    passes += schedule.by_rank.back().size();
    for (const StagePass& pass : schedule.by_rank.back()) {
      stages = std::max(stages, pass.stage + 1);
      schedule.sizes.microbatches = std::max(schedule.sizes.microbatches, pass.microbatch + 1);
    }
  }
  while (!schedule.by_rank.empty() && schedule.by_rank.back().empty()) schedule.by_rank.pop_back();
  const std::size_t ranks = schedule.by_rank.size();
  if (ranks == 0 || static_cast<std::size_t>(stages) % ranks != 0)
    throw InvalidArgument(
        fmt::format("{} has {} stages on {} ranks; must have a line for each rank and equally many "
                    "stages on each",
                    source, stages, ranks));
  schedule.sizes.ranks = static_cast<int>(ranks);
  schedule.sizes.stages_per_rank = stages / schedule.sizes.ranks;
  if (passes > most_passes || pass_count(schedule.sizes) > 4 * most_passes)
    throw InvalidArgument(
        fmt::format("{} has {} stages and {} microbatches; their product must be at most {}",
                    source, stages, schedule.sizes.microbatches, most_passes));
  return schedule;
}

std::string to_text(const PipelineSchedule& schedule) {
  std::string text;
  for (const std::vector<StagePass>& passes : schedule.by_rank) {
    for (std::size_t i = 0; i < passes.size(); ++i)
      text += (i == 0 ? "" : ",") + to_string(passes[i]);
    text += '\n';
  }
  return text;
}

}  // namespace gang::harness
