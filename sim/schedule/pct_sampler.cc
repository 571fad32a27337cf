#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/schedule/random_stream.h"
#include "sim/schedule/sampler.h"

namespace gang::sim {
namespace {

class PctSampler final : public Sampler {
 public:
  PctSampler(std::uint64_t seed, int depth, const KnownContests& known)
      : random_(seed, "pct"), known_(known) {
    for (int change = 1; change < depth; ++change)
      changes_.push_back(1 + random_.below(std::max<std::uint64_t>(known.steps(), 1)));
  }

  TaskId choose(ContextBits enabled) override {
    return *std::ranges::max_element(enabled, {}, [this](TaskId task) { return priority(task); });
  }

  std::size_t pick(std::size_t ways) override { return random_.below(ways); }

  void note_step(const SampledStep& step) override {
    if (changes_.empty() || !known_.is_contested(step.accesses)) return;
    ++contested_;
    for (std::size_t change = 0; change < changes_.size(); ++change)
      if (changes_[change] == contested_) priority(step.task) = change;
  }

 private:
  // Above those of contexts that have fallen behind.
  std::uint64_t& priority(TaskId task) {
    while (priorities_.size() <= task) priorities_.push_back(random_() | std::uint64_t{1} << 63);
    return priorities_[task];
  }

  RandomStream random_;
  const KnownContests& known_;
  std::vector<std::uint64_t> changes_;     // numbers of contested steps, from 1
  std::vector<std::uint64_t> priorities_;  // by task
  std::uint64_t contested_ = 0;            // steps so far
};

}  // namespace

std::unique_ptr<Sampler> make_pct_sampler(std::uint64_t seed, int depth,
                                          const KnownContests& known) {
  return std::make_unique<PctSampler>(seed, depth, known);
}

double pct_bound(int depth, const KnownContests& known) noexcept {
  const auto contexts = static_cast<double>(std::max<std::uint64_t>(known.contexts(), 1));
  const auto steps = static_cast<double>(std::max<std::uint64_t>(known.steps(), 1));
  return 1 / (contexts * std::pow(steps, depth - 1));
}

}  // namespace gang::sim
