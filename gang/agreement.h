// Small agreements between the members of a gang.
#pragma once

#include <cstdint>

#include "gang/gang.h"

namespace gang {

// Returns the flag of `source_rank` on every rank. Collective; one broadcast of a bool.
bool broadcast_flag(Gang& gang, bool flag, int source_rank = 0,
                    CallSite call_site = CallSite::here());

// Returns the sum over the ranks on every rank: integers in 64 bits, floating point in f64. All
// ranks must use the same overload. Collective; one all_reduce of a scalar.
std::int64_t all_sum(Gang& gang, std::int64_t value, CallSite call_site = CallSite::here());
double all_sum(Gang& gang, double value, CallSite call_site = CallSite::here());
inline std::int64_t all_sum(Gang& gang, int value, CallSite call_site = CallSite::here()) {
  return all_sum(gang, static_cast<std::int64_t>(value), call_site);
}

}  // namespace gang
