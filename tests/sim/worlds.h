// Small simulated worlds, and what their reports say.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/simulation.h"

namespace gang::sim::test {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

inline Report run(const SimulationOptions& options, const RankProgram& program) {
  return Simulation(options).run(program);
}

inline Report run(int world_size, const RankProgram& program) {
  return run(SimulationOptions{.world_size = world_size}, program);
}

// The identifiers of the findings, in order.
inline std::vector<std::string> ids_of(const Report& report) {
  std::vector<std::string> ids;
  for (const Finding& finding : report.findings) ids.push_back(finding.id);
  return ids;
}

// The ranks that are blocked, in order.
inline std::vector<int> blocked_ranks(const Report& report) {
  std::vector<int> ranks;
  for (const BlockedCall& call : report.blocked) ranks.push_back(call.rank);
  return ranks;
}

// The GangError that `body` throws; none if it throws none.
template <typename Body>
std::optional<GangError> gang_error_of(const Body& body) {
  try {
    body();
  } catch (const GangError& error) {
    return error;
  }
  return std::nullopt;
}

// Sanitizers do not follow switches of stacks, so builds for them default to threads.
inline bool has_fibers() { return SimulationOptions::default_context() == ContextKind::fiber; }

// The contexts that promise one trace.
inline std::vector<ContextKind> deterministic_contexts() {
  if (!has_fibers()) return {ContextKind::thread};
  return {ContextKind::fiber, ContextKind::thread};
}

// The same, and the one that is only nearly deterministic.
inline std::vector<ContextKind> all_contexts() {
  std::vector<ContextKind> contexts = deterministic_contexts();
  contexts.push_back(ContextKind::parallel);
  return contexts;
}

// A sum over `gang` of one per member: its size, where every member takes part.
inline int count_members(Gang& gang, CallSite call_site = CallSite::here()) {
  std::int32_t count = 1;
  gang.all_reduce(view_of(count), ReduceOperation::sum, {}, call_site);
  return count;
}

// A child of the given ranks.
inline std::shared_ptr<Gang> child_of(Gang& parent, const std::vector<int>& ranks,
                                      const GangOptions& options = {}) {
  return parent.create_gang(ranks, options);
}

}  // namespace gang::sim::test
