#include "sim/further_runs/neighbouring_runs.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <ranges>
#include <utility>

#include "sim/further_runs/every_schedule.h"

namespace gang::sim {
namespace {

// Of the beginnings of neighbours together: 8 bytes each. The last contests come first out of a
// Reduction.
constexpr std::size_t most_choices = 4'000'000;
// Contexts that could run, over all steps of all neighbours, but for the fewest: what the runs
// cost.
constexpr std::size_t most_enabled = 20'000'000;
constexpr std::size_t fewest_neighbours = 4;

// Who could have made its steps, each of them.
std::size_t enabled_in(const StepLog& log) {
  std::size_t enabled = log.ways.size();
  for (const std::uint64_t word : log.enabled)
    enabled += static_cast<std::size_t>(std::popcount(word));
  return enabled;
}

}  // namespace

NeighbouringRuns::NeighbouringRuns(const SimulationOptions& options, const RunAgain& again)
    : options_(guided_run(options)), again_(again) {
  Guide& guide = *options_.guide;
  guide.begin(*reduction_.next(), reduction_.known());
  first_ = again_(options_);
  Reversals reversals;
  reduction_.learn(guide, reversals);
  const bool has_been_learned = !reduction_.is_too_large() && !reduction_.has_diverged();
  if (has_been_learned && first_.outcome != Outcome::step_limit && !unguided_in(first_, guide))
    contests_ = reduction_.contests();
  left_ = std::clamp(most_enabled / std::max<std::size_t>(enabled_in(guide.log()), 1),
                     fewest_neighbours, most_neighbours);
  find_branches();
}

void NeighbouringRuns::find_branches() {
  std::size_t choices = 0;
  while (choices < most_choices) {
    std::optional<Beginning> beginning = reduction_.next();
    if (!beginning) break;
    choices += beginning->choices.size();
    branches_.push_back({*std::move(beginning), reduction_.decisive().value()});
  }
  std::ranges::stable_sort(branches_, std::greater{},
                           [](const Branch& branch) { return branch.beginning.choices.size(); });
  const auto next_ones = std::views::reverse(branches_) | std::views::take(most_listed);
  for (const Branch& branch : next_ones) listed_.push_back(branch.contest);
}

std::optional<NeighbouringRuns::Neighbour> NeighbouringRuns::next(
    const std::function<bool(const Contest&)>& wants) {
  while (!branches_.empty() && left_ > 0) {
    Branch branch = std::move(branches_.back());
    branches_.pop_back();
    if (!wants(branch.contest)) continue;
    --left_;
    if (std::optional<Report> report = run(std::move(branch.beginning)))
      return Neighbour{*std::move(report), std::move(branch.contest)};
  }
  return std::nullopt;
}

// None if the run was given up.
std::optional<Report> NeighbouringRuns::run(Beginning beginning) {
  Guide& guide = *options_.guide;
  guide.begin(std::move(beginning), reduction_.known());
  Report report = again_(options_);
  if (guide.is_cut() || guide.has_diverged()) return std::nullopt;
  return report;
}

}  // namespace gang::sim
