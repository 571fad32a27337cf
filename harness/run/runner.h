// Runs a program as a specification says, and tells what came out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "harness/program/output.h"
#include "harness/program/program.h"
#include "harness/run/real_time.h"
#include "harness/run/run_specification.h"
#include "sim/further_runs/settled_run.h"
#include "sim/report/report.h"
#include "sim/text/marked_text.h"

namespace gang::sim {
class Guide;
}

namespace gang::harness {

// Of many runs only those that fail are shown: RunResult::reproduce of the others is empty.
enum class Shown : std::uint8_t { always, only_if_it_fails };

// What a run keeps besides its report; nothing of it changes the run.
struct RunRecording {
  sim::Recording trace = sim::Recording::off;
  sim::Recording schedule = sim::Recording::off;
  sim::Recording timeline = sim::Recording::off;
  KeepOutputs outputs = KeepOutputs::digest_only;
  const RankLog* log = nullptr;  // gets what the ranks log; borrowed
  Shown shown = Shown::always;
  // Whether further runs may settle what one leaves open. Otherwise it stays open.
  bool settles = true;
  // Which neighbours of the run are made then. Of all, where it has no faults, the result tells the
  // contested choices and what is decisive.
  sim::Neighbours neighbours = sim::Neighbours::of_messages;
  // Where nothing settles: the outputs of a run without the faults, with their data, to judge this
  // one by. Asked for where it matters; null: they are not known.
  std::function<const Outputs&()> clean = {};
  std::shared_ptr<sim::Guide> guide = {};  // makes the choices; or, where they are random, watches
};

// What came out of a run. A value.
struct RunResult {
  sim::Report report;              // with the finding wrong_result where results are wrong
  RunSpecification specification;  // as run: with the world
  int world_size = 1;              // 0: not known, of a run that was not made here
  Outputs outputs;
  std::vector<std::string> notes = {};  // by rank, of Rank::note; empty where there is none
  std::string reproduce;  // the command that does the same; empty if nobody is shown the run
  // This run is a proof: without faults, no schedule of the program ends otherwise.
  bool is_in_every_schedule = false;
  // Where another one may: how many choices decide that, and the command that tries them. 0: they
  // were not counted, or no command is known.
  std::uint64_t contested_choices = 0;
  std::vector<std::string> choices = {};  // the first of them, in words: at most 16
  std::string explore = {};
  std::string decisive = {};  // of a run that fails: the choice without which it holds, if known
  RealTime real_time = {};    // of ranks that are processes
  std::string uncontained;    // where faults led to more than typed errors (fault_check.h)
  std::string unexpected;     // where a file expected another outcome; else empty

  // Completed without any finding.
  bool holds() const noexcept { return report.holds(); }
};

// Whether a run is one that an exploration looks for: with faults, a run that did not contain them;
// without, a run that does not hold.
bool is_failure(const RunResult& result);

// Whether its first finding is that the program does not repeat itself under one schedule.
bool is_nondeterministic(const RunResult& result);

// Runs `program` from creation to verdict. Blocks. `binary` is what `reproduce` begins with.
//
// Throws InvalidArgument for a specification that the program, its parameters or the backend does
// not accept, NotSupported for a backend that is unavailable. What the program does wrong is in the
// result.
RunResult run(const Program& program, const RunSpecification& specification,
              const RunRecording& recording = {}, std::string_view binary = "gangsim");

// The same along `schedule`: outcome diverged where the program does not follow it.
RunResult replay(const Program& program, const RunSpecification& specification,
                 const sim::Schedule& schedule, const RunRecording& recording = {},
                 std::string_view binary = "gangsim");

// For people, at most 80 columns: the outcome with its counts and digests, or the report of what is
// wrong; then the command that reproduces it, and what was unexpected. (For machines: run_file.h.)
std::string to_string(const RunResult& result);
sim::MarkedText marked_text(const RunResult& result);  // the same, to be styled

// "rank 0 locked a mutex before rank 1 did. Decided the other way, the run holds.": empty if it is
// not known.
std::string decisive_text(const RunResult& result);

// "2 choices, decided by: gangsim explore lock_order": empty if no command is known.
std::string contested_text(const RunResult& result);

}  // namespace gang::harness
