#include <algorithm>
#include <vector>

#include "sim/schedule/random_stream.h"
#include "sim/schedule/sampler.h"

namespace gang::sim {
namespace {

class PosSampler final : public Sampler {
 public:
  PosSampler(std::uint64_t seed, const KnownContests& known)
      : random_(seed, "pos"), known_(known) {}

  TaskId choose(ContextBits enabled) override {
    return *std::ranges::max_element(enabled, {},
                                     [this](TaskId task) { return of(task).priority; });
  }

  std::size_t pick(std::size_t ways) override { return random_.below(ways); }

  void note_step(const SampledStep& step) override {
    Next& made = of(step.task);
    made.context = step.context;
    ++made.index;
    made.priority = random_();
    if (!known_.is_contested(step.accesses)) return;
    for (TaskId task = 0; task < next_.size(); ++task)
      if (task != step.task && may_race(next_[task], step.accesses))
        next_[task].priority = random_();
  }

 private:
  // The next step of a context.
  struct Next {
    std::uint64_t priority = 0;
    StepKey context = 0;  // 0: it has made no step, so what it does is not known
    std::size_t index = 0;
  };

  Next& of(TaskId task) {
    while (next_.size() <= task) next_.push_back({.priority = random_()});
    return next_[task];
  }

  bool may_race(const Next& next, std::span<const Access> made) const {
    const std::vector<Access>* accesses = known_.step_of(next.context, next.index);
    return accesses == nullptr || conflict(*accesses, made, known_.knowledge());
  }

  RandomStream random_;
  const KnownContests& known_;
  std::vector<Next> next_;  // by task
};

}  // namespace

std::unique_ptr<Sampler> make_pos_sampler(std::uint64_t seed, const KnownContests& known) {
  return std::make_unique<PosSampler>(seed, known);
}

}  // namespace gang::sim
