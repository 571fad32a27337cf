// For guides of runs that receive from named ranks only.
#pragma once

#include "sim/schedule/step_log.h"

namespace gang::sim::test {

inline const Knowledge no_knowledge;

}  // namespace gang::sim::test
