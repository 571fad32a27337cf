// The findings of a run at their call sites, for code review.
#pragma once

#include <vector>

#include "harness/run/runner.h"
#include "harness/text/sarif.h"
#include "harness/text/source_tree.h"

namespace gang::harness {

// A result for each finding, at the call that it is about, with the calls of the other ranks as
// related places. One for a run that ended otherwise without a finding, or contrary to what its
// file expects. None for a run that holds.
std::vector<SarifResult> to_sarif(const RunResult& result, SourceTree& tree);

// The document of one run, made by `command` ("gangsim run"): files are those of the current
// folder's repository.
std::string to_sarif_text(std::string_view command, const RunResult& result);

}  // namespace gang::harness
