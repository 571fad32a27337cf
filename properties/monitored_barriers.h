// Monitored barriers name the missing ranks, whatever goes wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gang/duration.h"
#include "gang/gang.h"
#include "properties/law.h"
#include "properties/subject.h"
#include "sim/faults/fault_plan.h"

namespace gang::properties {

// Ranks that call some barriers of their own, each after a pause, and then meet at a monitored
// barrier, as far as a drawn plan of faults lets them.
struct RollCall {
  std::vector<Duration> pauses;  // by rank: before each of its calls
  int own_barriers = 0;
  Duration timeout{1};
  Gang::MissingRanks report = Gang::MissingRanks::all;
  std::uint64_t seed = 1;
  sim::FaultPlan plan;

  int world() const noexcept { return static_cast<int>(pauses.size()); }
  friend bool operator==(const RollCall&, const RollCall&) = default;
};

RollCall generate_roll_call(Draw& draw);
std::string to_text(const RollCall& roll_call);
std::vector<RollCall> shrinks(const RollCall& roll_call);

// Success means that every rank came. A timeout names all that did not (or the first of them), a
// failed peer is one that did not come or that died there, and no other rank is named. Where gangs
// do not time out together, a rank may know of fewer.
Verdict judge_roll_call(const RollCall& roll_call, const Subject& subject);

}  // namespace gang::properties
