// A saved schedule: enough to repeat a run exactly, and to notice if it does not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/program/program.h"
#include "harness/run/run_specification.h"
#include "harness/run/runner.h"
#include "sim/schedule/detours.h"
#include "sim/schedule/schedule.h"

namespace gang::harness {

// What a schedule file holds. A value: parses and prints.
struct SavedSchedule {
  static constexpr int format_version = 1;

  RunSpecification specification;
  std::uint64_t program_fingerprint = 0;
  sim::Schedule schedule;
  // The same by the names of its steps, so that it can be followed where the program has changed;
  // none: not known.
  std::optional<std::vector<sim::Detour>> detours = {};
  std::uint64_t trace_digest = 0;
  std::uint64_t result_digest = 0;
  std::vector<std::string> events;  // the first ones of the trace, one line each

  friend bool operator==(const SavedSchedule&, const SavedSchedule&) = default;
};

// At most this many events are saved.
inline constexpr std::size_t most_saved_events = 20'000;

// From a run that recorded its schedule and trace.
SavedSchedule make_saved_schedule(const Program& program, const RunResult& result);

// As JSON, and back. from_text throws InvalidArgument: the field, or the other version.
std::string to_text(const SavedSchedule& saved);
SavedSchedule saved_schedule_from_text(std::string_view text);

// The file at `path`; errors begin with the path.
SavedSchedule read_schedule_file(const std::string& path);

// The first difference between `result`, a replay with its trace recorded, and the run that was
// saved, as one sentence. None if they are the same run.
std::optional<std::string> first_divergence(const SavedSchedule& saved, const Program& program,
                                            const RunResult& result);

// A run along a saved schedule.
struct ReplayedRun {
  RunResult result;
  std::string change;  // where it is not the run that was saved; empty: it is
};

// Along the schedule; or, where the program has changed and that does not fit, along the
// detours. Throws InvalidArgument if that does not fit either: what differs, and which detour
// is not met.
ReplayedRun replay_saved(const SavedSchedule& saved, const Program& program,
                         const RunRecording& recording = {}, std::string_view binary = "gangsim");

}  // namespace gang::harness
