// Draws the faults of one run from a plan.
#include <algorithm>
#include <cmath>
#include <set>

#include "sim/faults/fault_plan.h"
#include "sim/schedule/random_stream.h"

namespace gang::sim {
namespace {

// A Poisson-distributed number. Source: Knuth's multiplication of uniform numbers.
std::size_t poisson(RandomStream& stream, double mean) {
  const double limit = std::exp(-mean);
  std::size_t count = 0;
  for (double product = stream.uniform(); product > limit; product *= stream.uniform()) ++count;
  return count;
}

std::uint64_t draw_between(RandomStream& stream, std::uint64_t least, std::uint64_t most) {
  const std::uint64_t span = most - least;
  return span == ~std::uint64_t{0} ? stream() : least + stream.below(span + 1);
}

void fix(RandomStream& stream, std::optional<Between<std::uint64_t>>& range) {
  if (range && !range->is_fixed()) range = draw_between(stream, range->least, range->most);
}

void fix(RandomStream& stream, std::optional<Between<Duration>>& range) {
  if (!range || range->is_fixed()) return;
  const auto least = static_cast<std::uint64_t>(range->least.count());
  const auto most = static_cast<std::uint64_t>(range->most.count());
  range = Duration(static_cast<std::int64_t>(draw_between(stream, least, most)));
}

void add_node(const FaultPlan& plan, int node, int world_size, std::set<int>& ranks) {
  const int first = node * plan.ranks_per_node;
  for (int rank = first; rank < std::min(first + plan.ranks_per_node, world_size); ++rank)
    ranks.insert(rank);
}

// `count` distinct numbers below `bound`.
std::vector<int> draw_some(RandomStream& stream, int count, int bound) {
  std::set<int> chosen;
  while (static_cast<int>(chosen.size()) < std::min(count, bound))
    chosen.insert(static_cast<int>(stream.below(static_cast<std::uint64_t>(bound))));
  return {chosen.begin(), chosen.end()};
}

std::vector<int> victims(RandomStream& stream, const FaultPlan& plan, const Fault& fault,
                         int world_size) {
  std::set<int> ranks(fault.ranks.begin(), fault.ranks.end());
  for (const int node : fault.nodes) add_node(plan, node, world_size, ranks);
  const int nodes = (world_size + plan.ranks_per_node - 1) / plan.ranks_per_node;
  for (const int node : draw_some(stream, fault.random_nodes, nodes))
    add_node(plan, node, world_size, ranks);
  const bool names_nobody = ranks.empty() && fault.random_ranks == 0;
  for (const int rank : draw_some(stream, names_nobody ? 1 : fault.random_ranks, world_size))
    ranks.insert(rank);
  return {ranks.begin(), ranks.end()};
}

std::vector<int> other_ends(const Fault& fault, int world_size) {
  if (!fault.to.empty() || !is_of_link(fault.kind)) return fault.to;
  std::vector<int> others;
  for (int rank = 0; rank < world_size; ++rank)
    if (!std::ranges::binary_search(fault.ranks, rank)) others.push_back(rank);
  return others;
}

Fault drawn(RandomStream& stream, const FaultPlan& plan, Fault fault, int world_size) {
  fault.ranks = victims(stream, plan, fault, world_size);
  fault.nodes.clear();
  fault.random_ranks = fault.random_nodes = 0;
  fault.to = other_ends(fault, world_size);
  fault.chance = fault.weight = 1;
  fix(stream, fault.trigger.operation);
  fix(stream, fault.trigger.message);
  fix(stream, fault.trigger.time);
  fix(stream, fault.lasts);
  fix(stream, fault.delay);
  fix(stream, fault.notice);
  if (fault.trigger.moment == FaultMoment::any)
    fault.trigger.moment = static_cast<FaultMoment>(stream.below(3));
  return fault;
}

std::vector<const Fault*> enabled(RandomStream& stream, const FaultPlan& plan) {
  std::set<FaultKind> kinds;
  if (plan.selection == FaultSelection::swarm)
    for (const auto& entry : fault_kind_names)
      if (stream.below(2) == 0) kinds.insert(entry.value);
  std::vector<const Fault*> faults;
  for (const Fault& fault : plan.faults)
    if (plan.selection != FaultSelection::swarm || kinds.contains(fault.kind))
      faults.push_back(&fault);
  return faults;
}

const Fault* pick(RandomStream& stream, const std::vector<const Fault*>& faults) {
  double total = 0;
  for (const Fault* fault : faults) total += fault->weight;
  double place = stream.uniform() * total;
  for (const Fault* fault : faults) {
    if (place < fault->weight) return fault;
    place -= fault->weight;
  }
  return nullptr;  // all weights are zero
}

}  // namespace

FaultPlan draw(const FaultPlan& plan, std::uint64_t seed, int world_size) {
  validate(plan, world_size);
  RandomStream stream(seed, "faults");
  FaultPlan run{.name = plan.name, .ranks_per_node = plan.ranks_per_node, .lines = plan.lines};
  if (plan.selection == FaultSelection::all) {
    for (const Fault& fault : plan.faults)
      if (fault.chance >= 1 || stream.uniform() < fault.chance)
        run.faults.push_back(drawn(stream, plan, fault, world_size));
    return run;
  }
  const std::vector<const Fault*> faults = enabled(stream, plan);
  if (faults.empty()) return run;
  for (std::size_t left = poisson(stream, plan.mean); left > 0; --left)
    if (const Fault* fault = pick(stream, faults))
      run.faults.push_back(drawn(stream, plan, *fault, world_size));
  return run;
}

void check_drawn(const FaultPlan& plan) {
  if (plan.selection != FaultSelection::all)
    throw FaultPlanError(FaultPlanError::no_fault, "selection", "the plan is not drawn", plan);
  for (std::size_t i = 0; i < plan.faults.size(); ++i) {
    const Fault& fault = plan.faults[i];
    const bool is_drawn =
        !fault.ranks.empty() && fault.nodes.empty() && fault.random_ranks == 0 &&
        fault.random_nodes == 0 && fault.chance == 1 && fault.trigger.moment != FaultMoment::any &&
        (!fault.lasts || fault.lasts->is_fixed()) && (!fault.delay || fault.delay->is_fixed()) &&
        (!fault.notice || fault.notice->is_fixed());
    if (!is_drawn) throw FaultPlanError(i, "kind", "is not drawn", plan);
  }
}

}  // namespace gang::sim
