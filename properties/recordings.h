// What the ranks of a run left as dumps says what the run said.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "properties/property.h"
#include "properties/subject.h"

namespace gang::properties {

// What became of the runs. Threads: may be counted from several.
struct RecordingFigures {
  std::atomic<std::uint64_t> held = 0;        // the run, and its recording
  std::atomic<std::uint64_t> found = 0;       // the run has findings
  std::atomic<std::uint64_t> same = 0;        // of `found`: the recording names the same ranks
  std::atomic<std::uint64_t> same_cause = 0;  // of `same`: by the same finding
};

// "the same ranks are named in 987 of 990 (99.70 %)", ..., in lines.
std::string to_string(const RecordingFigures& figures);

inline constexpr double least_same_ranks = 0.98;
inline constexpr double least_same_cause = 0.95;

inline constexpr double least_same_retold = 0.99;

// dumps_say_what_the_run_said; a_recording_is_a_program.
std::vector<Property> recordings(const Subject& subject);

}  // namespace gang::properties
