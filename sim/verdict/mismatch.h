// Finds the field in which the calls of an operation differ, and the odd ranks.
#pragma once

#include <span>
#include <vector>

#include "sim/report/report.h"
#include "sim/state/fingerprint.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

struct Mismatch {
  Finding finding;
  std::vector<int> odd_members;  // ranks of the gang
};

// `members` has at least two calls that do not match; null entries have not arrived. The finding is
// that of the first field that differs, in the order of SEMANTICS. The odd members are those
// outside the largest set that agrees on it, or all of them if no set is the largest.
Mismatch explain_mismatch(const GangState& gang, std::span<PendingOperation* const> members,
                          MatchRules rules);

}  // namespace gang::sim
