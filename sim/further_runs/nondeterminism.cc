#include "sim/further_runs/nondeterminism.h"

#include <algorithm>

#include <fmt/format.h>

namespace gang::sim {
namespace {

// "post of rank 2 barrier #1 at train.cc:41".
std::string event_text(const Trace& trace, const TraceEvent* event) {
  if (event == nullptr) return "the end";
  std::string text = fmt::format("{} of rank {}", to_string(event->kind), event->rank);
  if (!event->call.empty()) text += " " + to_string(event->call);
  if (event->call_site != no_call_site) text += " at " + to_string(location_of(trace, *event));
  return text;
}

// Indices of call sites are alike only up to the first difference.
bool is_same(const Trace& a, const Trace& b, std::size_t step) {
  return a.events[step] == b.events[step] &&
         location_of(a, a.events[step]) == location_of(b, b.events[step]);
}

}  // namespace

std::optional<Finding> nondeterminism(const Report& first, const Report& again) {
  const Trace& a = first.trace;
  const Trace& b = again.trace;
  if (a.events == b.events && a.call_sites == b.call_sites && a.digest == b.digest)
    return std::nullopt;
  Finding finding;
  finding.id = finding_id::nondeterminism;
  const std::size_t both = std::min(a.events.size(), b.events.size());
  std::size_t step = 0;
  while (step < both && is_same(a, b, step)) ++step;
  const auto event_of = [step](const Trace& trace) {
    return step < trace.events.size() ? &trace.events[step] : nullptr;
  };
  for (const Trace* trace : {&a, &b}) {
    const TraceEvent* const event = event_of(*trace);
    if (event == nullptr) continue;
    if (std::ranges::count(finding.ranks, event->rank) == 0) finding.ranks.push_back(event->rank);
    if (!finding.location.empty()) continue;
    finding.location = location_of(*trace, *event);
    finding.call = event->call;
  }
  std::ranges::sort(finding.ranks);
  finding.message = fmt::format(
      "Two runs of the program under one schedule differ, so it depends on something outside "
      "the simulation (a clock, an address, unseeded randomness): event {}: first {}, then {}.",
      step, event_text(a, event_of(a)), event_text(b, event_of(b)));
  return finding;
}

}  // namespace gang::sim
