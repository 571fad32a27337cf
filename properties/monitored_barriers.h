// Who is missing at a monitored barrier, whatever goes wrong.
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

// Ranks that call some barriers of their own, each after a while, and then meet at a monitored
// barrier, if they get there: a drawn plan of faults befalls them.
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

// Success means that all have come. A timeout names all who have not (or the first of them), a
// failed peer is one that has not come or has died there, and nobody else is named. Where gangs do
// not time out together, each rank may know of fewer.
Verdict judge_roll_call(const RollCall& roll_call, const Subject& subject);

}  // namespace gang::properties
