#include "sim/engine/simulated_flag.h"

#include <map>
#include <string>

#include "sim/further_runs/every_schedule.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Looks at a flag that another thread sets.
void look_at_flag(Runtime& runtime, const std::function<void(RuntimeFlag&)>& look) {
  const auto flag = runtime.make_flag(CallSite::at("flag", 1));
  const auto thread = runtime.start_thread("setter", [&flag] { flag->set(); });
  look(*flag);
  thread->join();
  EXPECT_TRUE(flag->is_set());
}

TEST(SimulatedFlag, ALookMayLetOthersGoFirst) {
  for (const ContextKind context : deterministic_contexts()) {
    const Report report = run({.world_size = 1, .context = context}, [](SimulatedRank& rank) {
      look_at_flag(rank.runtime(), [&rank](RuntimeFlag& flag) {
        rank.runtime().before_look();
        EXPECT_FALSE(flag.look());
        EXPECT_TRUE(flag.look_after_others());
        EXPECT_TRUE(flag.look());
      });
    });
    EXPECT_TRUE(report.holds()) << to_string(report);
  }
}

TEST(SimulatedFlag, ExplorationsTryALookOnBothSides) {
  std::map<std::string, int> seen;
  const EverySchedule all = run_every_schedule(
      {.world_size = 1},
      [&seen](const SimulationOptions& guided) {
        return run(guided, [&seen](SimulatedRank& rank) {
          look_at_flag(rank.runtime(), [&](RuntimeFlag& flag) {
            std::string looks;
            do {
              looks += '-';
              rank.runtime().before_look();
            } while (looks.size() < 3 && !flag.look());
            ++seen[looks];
          });
        });
      },
      [](const ExploredRun&) { return true; });
  EXPECT_EQ(all.end, EverySchedule::End::all_seen);
  // The flag is set before one of two looks, or after both.
  EXPECT_EQ(seen, (std::map<std::string, int>{{"-", 1}, {"--", 1}, {"---", 1}}));
}

}  // namespace
}  // namespace gang::sim
