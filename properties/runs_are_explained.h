// Saved runs and timelines say what happened.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/run/run_file.h"
#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// How a run is saved: the real way, unless a test plants another to see the property catch it.
struct RunFileForm {
  std::function<std::string(const harness::RunResult&)> print = harness::to_file_text;
  std::function<harness::RunResult(std::string_view)> parse = harness::run_result_from_text;
};

// Over random programs, in most of which one rank returns before its first step: a saved run says
// what the run said, and a timeline has every operation, in dependency order, with the blocked ones
// open.
std::vector<Property> runs_are_explained(const Subject& subject = {}, const RunFileForm& form = {});

}  // namespace gang::properties
