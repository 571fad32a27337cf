#include "gang/recycled.h"
#include "sim/schedule/random_stream.h"
#include "sim/schedule/scheduler.h"

namespace gang::sim {
namespace {

class RoundRobinScheduler final : public Scheduler, public Recycled<RoundRobinScheduler> {
 public:
  explicit RoundRobinScheduler(std::uint64_t seed) noexcept : random_(seed, "schedule") {}

  void begin_run(int) override {}
  TaskId next_rank(const RunnableSet& runnable, TaskId current) override {
    return runnable.next_after(current);
  }
  std::uint64_t next_u64() override { return random_(); }
  SwitchPoints switch_points() const noexcept override { return SwitchPoints::blocking_calls; }

 private:
  RandomStream random_;
};

}  // namespace

std::unique_ptr<Scheduler> make_round_robin_scheduler(std::uint64_t seed) {
  return std::make_unique<RoundRobinScheduler>(seed);
}

}  // namespace gang::sim
