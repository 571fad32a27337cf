#include "gang/recycled.h"
#include "sim/schedule/random_stream.h"
#include "sim/schedule/scheduler.h"

namespace gang::sim {
namespace {

class RandomScheduler final : public Scheduler, public Recycled<RandomScheduler> {
 public:
  explicit RandomScheduler(std::uint64_t seed) noexcept : random_(seed, "schedule") {}

  void begin_run(int) override {}
  TaskId next_rank(const RunnableSet& runnable, TaskId) override {
    return runnable.at(random_.below(runnable.size()));
  }
  std::uint64_t next_u64() override { return random_(); }
  SwitchPoints switch_points() const noexcept override { return SwitchPoints::all_calls; }

 private:
  RandomStream random_;
};

}  // namespace

std::unique_ptr<Scheduler> make_random_scheduler(std::uint64_t seed) {
  return std::make_unique<RandomScheduler>(seed);
}

}  // namespace gang::sim
