// What to do about a finding.
#pragma once

#include <string_view>

#include "sim/report/report.h"

namespace gang::sim {

// As fix_for its id, but for a message what to do about that; and where arguments differ between
// two places of the program, that these may have to be one. Static; may be empty.
std::string_view fix_for(const Finding& finding) noexcept;

}  // namespace gang::sim
