#include "harness/commands/exploration_options.h"

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/run/exhaustive_runs.h"

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
              "auto: one run of each class of equivalent schedules, then\n"
              "drawn ones; exhaustive: only the former, in up to 1 GiB of\n"
              "memory; random; pos: partial order sampling; pct:D: few\n"
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

}  // namespace gang::harness
