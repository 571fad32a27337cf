// Says in which field the calls of an operation differ, and who is odd.
#pragma once

#include <span>
#include <vector>

#include "sim/report/report.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

struct Mismatch {
  Finding finding;
  std::vector<int> odd_members;  // ranks of the gang
};

// `members` hold at least two calls that do not match; null entries have not come. The first field
// that differs, in the order of SEMANTICS, gives the finding; the odd ones are those outside the
// largest set of members that agree on it, or all of them where no set is the largest.
Mismatch explain_mismatch(const GangState& gang, std::span<PendingOperation* const> members,
                          bool strict_blocking);

}  // namespace gang::sim
