#include "harness/commands/exploration_options.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/run/exhaustive_runs.h"
#include "harness/text/number_text.h"

namespace gang::harness {
namespace {

Duration budget_of(std::string_view text) {
  const Duration budget = parse_duration(text);
  if (budget > Duration::zero()) return budget;
  throw InvalidArgument(fmt::format("--budget is '{}'; must be more than 0", text));
}

bool draws_steps(Strategy strategy) noexcept {
  return strategy == Strategy::pct || strategy == Strategy::pos;
}

}  // namespace

Option strategy_option(ExplorationOptions& options) {
  return {.name = "--strategy",
          .value_name = "NAME",
          .description =
              "auto: one run of each class of equivalent schedules, then "
              "drawn ones; exhaustive: only the former, in up to 1 GiB of "
              "memory; random; pos: partial order sampling; pct:D: few "
              "changes of random priorities, for bugs of depth D, 1 to 9 [auto]",
          .set = [&options](std::string_view text) { set_strategy(options, text); }};
}

Option budget_option(ExplorationOptions& options) {
  return {.name = "--budget",
          .value_name = "TIME",
          .description = "no run begins after it: 60s [none]",
          .set = [&options](std::string_view text) { options.budget = budget_of(text); }};
}

void check_strategy(const ExplorationOptions& options, const RunSpecification& specification,
                    int world_size) {
  if (options.strategy == Strategy::exhaustive && !can_be_exhaustive(specification))
    throw InvalidArgument(fmt::format("--strategy is 'exhaustive', but {}; leave it out to sample",
                                      why_not_exhaustive(specification)));
  if (!draws_steps(options.strategy) ||
      (can_be_watched(specification) && can_be_exhaustive(specification) &&
       world_size <= sim::most_explored_ranks))
    return;
  // They draw the steps of contexts one by one.
  throw InvalidArgument(
      fmt::format("--strategy is pct or pos, which draw the steps of at most {} simulated ranks "
                  "without faults; must be random",
                  sim::most_explored_ranks));
}

std::string progress_text(const ExplorationOptions& options, const ExplorationCoverage& coverage,
                          Duration elapsed) {
  const bool is_limited = options.schedules < any_schedules;
  std::string text = is_limited ? fmt::format("{} of {}", grouped(coverage.runs),
                                              grouped(options.schedules, "run"))
                                : grouped(coverage.runs, "run");
  const double seconds = std::chrono::duration<double>(elapsed).count();
  const double rate = seconds > 0 ? static_cast<double>(coverage.runs) / seconds : 0;
  text += rate >= 10 ? fmt::format(", {}/s", grouped(static_cast<std::uint64_t>(rate)))
                     : fmt::format(", {:.1f}/s", rate);
  std::optional<Duration> left;
  if (options.budget) left = std::max(Duration::zero(), *options.budget - elapsed);
  if (is_limited && rate > 0) {
    const std::uint64_t runs_left = options.schedules - std::min(coverage.runs, options.schedules);
    constexpr double most_seconds = 1e9;  // beyond which a Duration ends
    const Duration of_runs = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(
        std::min(most_seconds, static_cast<double>(runs_left) / rate)));
    left = std::min(left.value_or(of_runs), of_runs);
  }
  if (left)
    text += fmt::format(", at most {} left",
                        gang::to_string(std::chrono::ceil<std::chrono::seconds>(*left)));
  if (coverage.with_faults > 0)
    text += fmt::format("; {} with faults, {} ended with typed errors",
                        grouped(coverage.with_faults), grouped(coverage.typed_errors));
  return text;
}

ExplorationProgress terminal_progress(std::ostream& out, const ExplorationOptions& options) {
  return [&out, &options,
          began = std::chrono::steady_clock::now()](const ExplorationCoverage& coverage) {
    const Duration elapsed = std::chrono::steady_clock::now() - began;
    out << "\r\033[K" << progress_text(options, coverage, elapsed) << std::flush;
  };
}

}  // namespace gang::harness
