// Chooses at random who makes the next step of a run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sim/schedule/known_contests.h"
#include "sim/schedule/schedule.h"
#include "sim/schedule/step_log.h"

namespace gang::sim {

// A step that a context has made, and what it did to others.
struct SampledStep {
  TaskId task = 0;
  StepKey context = 0;
  std::span<const Access> accesses;
};

// One per run.
class Sampler {
 public:
  virtual ~Sampler() = default;

  // One of `enabled`, which is not empty.
  virtual TaskId choose(ContextBits enabled) = 0;

  // In which of `ways` ways, 2 or more, the context that makes the step goes on.
  virtual std::size_t pick(std::size_t /*ways*/) { return 0; }

  // The step that was chosen has been made.
  virtual void note_step(const SampledStep& step) = 0;
};

// PCT, a probabilistic concurrency test: contexts have random priorities, and at `depth` - 1 of the
// contested steps, drawn at random, the one that made the step falls behind all others. A bug that
// needs `depth` steps in one order is found with the probability of pct_bound at least, if runs
// have no more contexts and contested steps than `known` says. `known` outlives the sampler.
// Source: Burckhardt, Kothari, Musuvathi and Nagarakatte, "A randomized scheduler with
// probabilistic guarantees of finding bugs", ASPLOS 2010. Steps that commute with all others are
// not counted: where a context falls behind between two contested steps makes no difference.
std::unique_ptr<Sampler> make_pct_sampler(std::uint64_t seed, int depth,
                                          const KnownContests& known);

// 1 / (n * k^(depth - 1)) for n contexts and k contested steps.
double pct_bound(int depth, const KnownContests& known) noexcept;

// POS, partial order sampling: the next step of each context has a random priority, which is drawn
// anew when a step is made that does not commute with it. What a context does next is what it did
// in the runs that `known` has learned from. `known` outlives the sampler. Source: Yuan, Yang and
// Gu, "Partial order aware concurrency sampling", CAV 2018.
std::unique_ptr<Sampler> make_pos_sampler(std::uint64_t seed, const KnownContests& known);

}  // namespace gang::sim
