// Runs whose schedules are drawn at random.
#pragma once

#include <chrono>
#include <optional>

#include "harness/run/exploration.h"

namespace gang::harness {

// Calls `progress`, if there is one, now and then.
class ProgressReporter {
 public:
  explicit ProgressReporter(const ExplorationProgress& progress) : progress_(progress) {}

  // Calls `coverage()` where it is time, which it is not after most runs.
  template <typename Coverage>
  void report(const Coverage& coverage) {
    if (progress_ && is_due()) tell(coverage());
  }

  // What is reported from now on comes on top of `coverage`.
  void go_on_after(const ExplorationCoverage& coverage) { before_ = coverage; }

 private:
  bool is_due();
  void tell(const ExplorationCoverage& coverage);

  const ExplorationProgress& progress_;
  ExplorationCoverage before_;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
};

// How schedules are drawn.
struct Sampling {
  Strategy strategy = Strategy::random;  // or pct, pos
  int depth = 0;                         // of pct
  sim::KnownContests known;              // of pct and pos
};

// As `options` say. Where they leave it open, after exhaustive runs that ended as `every` says: PCT
// where its bound promises to find a bug of depth 2 at least in the runs that are left, else POS;
// random where something else than contested steps decides, too.
Sampling choose_sampling(const Program& program, const RunSpecification& specification,
                         const ExplorationOptions& options,
                         const std::optional<sim::EverySchedule>& every);

// Runs `program` once per seed, until a run fails: then with its schedule, unless faults or a
// random scheduler have chosen it. Without faults, it also fails where two runs hold and put out
// something else because a receive from any source took another message: the finding message_race;
// and where a run that is repeated does something else: the finding nondeterminism.
Exploration run_sampled(const Program& program, const RunSpecification& specification,
                        const ExplorationOptions& options,
                        const std::optional<sim::EverySchedule>& every, ProgressReporter& reporter);

// What was drawn: "100 runs of pct:3: ...", a line or two.
std::string to_text(const Sample& sample);

}  // namespace gang::harness
