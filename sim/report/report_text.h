// A report as text for people, in 80 columns.
#pragma once

#include <string_view>

#include "sim/report/report.h"
#include "sim/text/marked_text.h"

namespace gang::sim {

// "DEADLOCK  cross_gang_cycle", with `run`, a description of the run, at the right margin.
MarkedText headline(const Report& report, std::string_view run = "");

// Everything below the headline: findings, blocked calls and advice. Ranks in the same call share
// a line ("0-6"). to_string(Report) is both, without the roles.
MarkedText explanation(const Report& report);

}  // namespace gang::sim
