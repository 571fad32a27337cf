// For guides of runs that receive from named ranks only.
#pragma once

#include "sim/schedule/step_log.h"

namespace gang::sim::test {

inline const AnyReceives no_any_receives;

}  // namespace gang::sim::test
