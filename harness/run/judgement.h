// Judges a program: runs it, settles what the run leaves open, and explores what other schedules
// and faults would do. What the commands `run` and `explore` say, for programs that embed gangsim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/run/exploration.h"
#include "harness/run/schedule_file.h"

namespace gang::harness {

// A failure that an exploration has found, made as small as it gets.
struct ExplainedFailure {
  RunResult result;
  // What leads to it again, where the order of steps decides it: see replay_saved. None: the
  // specification of `result` is enough.
  std::optional<SavedSchedule> schedule;
  std::size_t detours_found = 0;  // of the schedule, before it and the program were made simpler
  std::size_t attempts = 0;       // to make the program or its faults smaller
  std::size_t steps = 0;          // those that did
  // Of the exhaustive runs that found it, of the smaller program; none: drawn ones did.
  std::optional<sim::EverySchedule> every = {};
};

// Of an exploration that has found one. `result.reproduce` begins with `binary`; who saves the
// schedule replaces it by the command that replays that file. The run that is shown records what
// `recording` says.
ExplainedFailure explain_failure(const Program& program, const Exploration& exploration,
                                 std::string_view binary = "gangsim",
                                 const RunRecording& recording = {});

// Of a program whose runs cost too much to try smaller ones: only its schedule is made simpler. The
// exploration has found a failure that a schedule leads to. The last run records what `recording`
// says, and the schedule and trace.
ExplainedFailure explain_schedule(const Program& program, const Exploration& exploration,
                                  std::string_view binary = "gangsim",
                                  const RunRecording& recording = {});

struct JudgeOptions {
  // Beyond the first run; none: that one alone is judged.
  std::optional<ExplorationOptions> exploration = ExplorationOptions{};
  ExplorationProgress progress = {};  // of the exploration, as for explore()
  std::string binary = "gangsim";     // what commands in texts begin with
};

// What has been shown of a program. A value.
struct Judgement {
  Claim claim = Claim::sampled;
  RunResult run;                            // the first run, settled
  std::optional<Exploration> exploration;   // none: not asked for, or the first run has failed
  std::optional<ExplainedFailure> failure;  // that the exploration has found

  // No run has failed. `claim` says what that is worth.
  bool holds() const noexcept { return claim != Claim::found; }

  // The run to look at: the failure, or else the first one.
  const RunResult& shown() const noexcept { return failure ? failure->result : run; }
};

// Judges `program`, on the specification's world, backend, sends and faults. Blocks; throws what
// run() throws. Where the order is not ours to choose (real processes, ContextKind::parallel) there
// is nothing to explore, and a single run is all that is judged.
//
//   const Judgement judgement = judge({"train", "one step", train}, {.world_size = 4});
//   if (!judgement.holds()) std::cerr << to_string(judgement);
Judgement judge(const Program& program, RunSpecification specification,
                const JudgeOptions& options = {});

// For people, at most 80 columns: the claim, what was tried, and the run to look at.
std::string to_string(const Judgement& judgement);

// "FOUND  ring, seed 7" and what the runs have covered, at most 80 columns; `schedules` is how many
// were asked for.
std::string summary_of(const RunSpecification& specification, const Exploration& exploration,
                       std::uint64_t schedules);

// In lines of 80 columns: the decisive choice, and both ways; "2 detours from the schedule that
// runs take by themselves: ..."; whether the program was made smaller. Empty where no schedule
// decides.
std::string schedule_text(const ExplainedFailure& failure);

}  // namespace gang::harness
