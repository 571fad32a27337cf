#include "sim/faults/fault_cases.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace gang::sim {
namespace {

bool is_open(const std::optional<Between<Duration>>& range) noexcept {
  return range && !range->is_fixed();
}

std::string why_not_listed(const Fault& fault) {
  if (!is_of_rank_alone(fault)) {
    if (fault.trigger.probability) return "happens with a probability";
    if (fault.trigger.while_rank) return "depends on what another rank is doing";
    if (is_of_link(fault.kind)) return "holds up or changes messages";
    return "changes data or processes at random";
  }
  if (is_open(fault.trigger.time) || is_open(fault.lasts) || is_open(fault.delay) ||
      is_open(fault.notice))
    return "has a time or duration that is drawn from a range";
  return "";
}

// Whether the rank goes no further than the operation inside which it is struck.
bool stops_inside(FaultKind kind) noexcept {
  return (ends_rank(kind) && kind != FaultKind::exception) || kind == FaultKind::stall;
}

// Whether a witness of the death may get the error instead of the result, and the plan does not say
// who does.
bool may_get_error(const Fault& fault) noexcept {
  return fault.notice.has_value() && fault.kind != FaultKind::stall && !fault.error_at;
}

}  // namespace

bool is_of_rank_alone(const Fault& fault) noexcept {
  if (fault.trigger.while_rank || fault.trigger.probability) return false;
  switch (fault.kind) {
    case FaultKind::crash:
    case FaultKind::exception:
    case FaultKind::exit:
    case FaultKind::stall:
    case FaultKind::slow:
    case FaultKind::late_start:
    case FaultKind::watchdog_abort:
      return true;
    default:
      return false;
  }
}

std::string why_not_listed(const FaultPlan& plan) {
  if (plan.selection != FaultSelection::all)
    return fmt::format("the plan picks its faults at random (selection {})",
                       name_of(fault_selection_names, plan.selection));
  for (std::size_t i = 0; i < plan.faults.size(); ++i)
    if (const std::string why = why_not_listed(plan.faults[i]); !why.empty())
      return fmt::format("fault {}, {}, {}", i + 1, to_string(plan.faults[i].kind), why);
  return "";
}

void FaultCases::Combination::begin(int count) {
  chosen.resize(static_cast<std::size_t>(std::clamp(count, 0, bound)));
  std::iota(chosen.begin(), chosen.end(), 0);
}

bool FaultCases::Combination::advance() {
  for (std::size_t i = chosen.size(); i-- > 0;) {
    if (chosen[i] >= bound - static_cast<int>(chosen.size() - i)) continue;
    std::iota(chosen.begin() + static_cast<std::ptrdiff_t>(i), chosen.end(), chosen[i] + 1);
    return true;
  }
  return false;
}

FaultCases::FaultCases(const FaultPlan& plan, int world_size)
    : plan_(plan), world_size_(world_size) {
  validate(plan_, world_size);
  const int nodes = (world_size + plan_.ranks_per_node - 1) / plan_.ranks_per_node;
  for (const Fault& fault : plan_.faults) {
    Place& place = places_.emplace_back(Place{.fault = &fault});
    place.ranks.bound = world_size;
    place.nodes.bound = nodes;
    if (fault.trigger.moment == FaultMoment::any)
      place.moments = {FaultMoment::before, FaultMoment::inside, FaultMoment::after};
    else
      place.moments = {fault.trigger.moment};
    begin(place);
  }
}

std::optional<FaultPlan> FaultCases::next() {
  if (std::exchange(has_begun_, true)) {
    auto place = places_.rbegin();
    for (; place != places_.rend() && !advance(*place); ++place) begin(*place);
    if (place == places_.rend()) is_over_ = true;
  }
  if (is_over_) return std::nullopt;
  FaultPlan plan{.ranks_per_node = plan_.ranks_per_node};
  for (const Place& place : places_)
    if (!place.is_absent) plan.faults.push_back(drawn(place));
  return plan;
}

void FaultCases::learn(const std::vector<SeenFault>& seen) {
  auto next = seen.begin();
  for (Place& place : places_) {
    if (place.is_absent || next == seen.end()) continue;
    place.seen.has_fired = place.seen.has_fired || next->has_fired;
    std::set<int> witnesses(place.seen.witnesses.begin(), place.seen.witnesses.end());
    // Which bit is whose must not change.
    if (place.told == 0) {
      witnesses.insert(next->witnesses.begin(), next->witnesses.end());
      place.seen.witnesses.assign(witnesses.begin(), witnesses.end());
    }
    ++next;
  }
}

void FaultCases::begin(Place& place) const {
  place.is_absent = place.fault->chance < 1;
  begin_victims(place);
}

void FaultCases::begin_victims(Place& place) const {
  const Fault& fault = *place.fault;
  const bool names_nobody = fault.ranks.empty() && fault.nodes.empty() && fault.random_nodes == 0;
  place.ranks.begin(names_nobody ? std::max(1, fault.random_ranks) : fault.random_ranks);
  place.nodes.begin(fault.random_nodes);
  place.moment = 0;
  place.operation = fault.trigger.operation ? fault.trigger.operation->least : 0;
  place.told = 0;
  place.seen = {};
}

// To where the fault comes about in the next way; false: there is none.
bool FaultCases::advance(Place& place) const {
  const Fault& fault = *place.fault;
  if (std::exchange(place.is_absent, false)) return fault.chance > 0;
  const std::size_t witnesses = std::min<std::size_t>(place.seen.witnesses.size(), 63);
  const bool is_inside = place.moments[place.moment] == FaultMoment::inside;
  if (is_inside && may_get_error(fault) && place.told + 1 < std::uint64_t{1} << witnesses) {
    ++place.told;
    return true;
  }
  const bool has_fired = place.seen.has_fired;
  place.told = 0;
  place.seen = {};
  const auto& operations = fault.trigger.operation;
  if (operations && has_fired && place.operation < operations->most) {
    ++place.operation;
    return true;
  }
  place.operation = operations ? operations->least : 0;
  if (++place.moment < place.moments.size()) return true;
  place.moment = 0;
  if (place.nodes.advance()) return true;
  place.nodes.begin(fault.random_nodes);
  return place.ranks.advance();
}

Fault FaultCases::drawn(const Place& place) const {
  Fault fault = *place.fault;
  std::set<int> ranks(fault.ranks.begin(), fault.ranks.end());
  ranks.insert(place.ranks.chosen.begin(), place.ranks.chosen.end());
  const auto add_node = [&](int node) {
    const int first = node * plan_.ranks_per_node;
    for (int rank = first; rank < std::min(first + plan_.ranks_per_node, world_size_); ++rank)
      ranks.insert(rank);
  };
  std::ranges::for_each(fault.nodes, add_node);
  std::ranges::for_each(place.nodes.chosen, add_node);
  fault.ranks.assign(ranks.begin(), ranks.end());
  fault.nodes.clear();
  fault.random_ranks = fault.random_nodes = 0;
  fault.chance = fault.weight = 1;
  fault.trigger.moment = place.moments[place.moment];
  if (fault.trigger.operation) fault.trigger.operation = place.operation;
  if (fault.trigger.moment == FaultMoment::inside && stops_inside(fault.kind) && !fault.error_at) {
    std::vector<int>& error_at = fault.error_at.emplace();
    for (std::size_t i = 0; i < place.seen.witnesses.size() && i < 63; ++i)
      if ((place.told >> i & 1) != 0) error_at.push_back(place.seen.witnesses[i]);
  }
  return fault;
}

}  // namespace gang::sim
