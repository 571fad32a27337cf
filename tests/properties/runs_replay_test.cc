#include <atomic>

#include "properties/all_properties.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

// A simulator that draws another schedule every time.
Subject forgetting_its_seed() {
  const auto runs = std::make_shared<std::atomic<std::uint64_t>>(0);
  return running_under([runs](sim::SimulationOptions& options) {
    if (options.scheduler == sim::SchedulerKind::random) options.seed += 2 * ++*runs;
  });
}

// That the property fails; shrinking and replaying would need a bug that stays.
void expect_falsified(const std::vector<Property>& properties, const std::string& name) {
  EXPECT_TRUE(find_property(properties, name).check({}).counterexample) << name;
}

TEST(RunsReplay, HoldOnTheSimulator) { expect_hold(runs_replay(), 400); }

TEST(RunsReplay, ASimulatorThatForgetsItsSeedIsCaught) {
  expect_falsified(runs_replay(forgetting_its_seed()), "same_seed_gives_the_same_trace");
}

TEST(RunsReplay, AScheduleThatLacksAChoiceIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    if (!report.schedule.choices.empty()) report.schedule.choices.pop_back();
  });
  expect_caught(runs_replay(subject), "a_replayed_schedule_gives_the_same_trace");
}

TEST(RunsReplay, AScheduleThatIsNotFollowedIsCaught) {
  const Subject subject = running_under([](sim::SimulationOptions& options) {
    if (options.scheduler != sim::SchedulerKind::replay) return;
    options.scheduler = sim::SchedulerKind::random;
    options.replay.reset();
    options.seed += 17;
  });
  const Counterexample found =
      expect_caught(runs_replay(subject), "a_replayed_schedule_gives_the_same_trace");
  EXPECT_THAT(found.text, ::testing::HasSubstr("1 step,"));
}

TEST(RunsReplay, AContextThatShowsIsCaught) {
  const Subject subject = running_under([](sim::SimulationOptions& options) {
    if (options.context == sim::ContextKind::thread) options.scheduler = sim::SchedulerKind::random;
  });
  expect_caught(runs_replay(subject), "fibers_and_threads_give_the_same_trace");
}

TEST(RunsReplay, AResultThatIsWrongOnParallelRanksOnlyIsCaught) {
  const auto is_parallel = std::make_shared<std::atomic<bool>>(false);
  Subject subject;
  subject.simulate = [is_parallel](const sim::SimulationOptions& options,
                                   const sim::RankProgram& program) {
    *is_parallel = options.context == sim::ContextKind::parallel;
    return sim::Simulation(options).run(program);
  };
  subject.wrap = [is_parallel](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    return std::make_shared<PlantedGang>(std::move(gang),
                                         [is_parallel](Gang&, Operation& operation) {
                                           if (*is_parallel) corrupt(operation);
                                         });
  };
  expect_caught(runs_replay(subject), "parallel_ranks_give_the_same_results", "step 0");
}

// The rank that finishes an operation first, which depends on the schedule, gets a wrong result.
TEST(RunsReplay, AResultThatDependsOnTheScheduleIsCaught) {
  const auto finished = std::make_shared<std::atomic<int>>(0);
  Subject subject;
  subject.simulate = [finished](const sim::SimulationOptions& options,
                                const sim::RankProgram& program) {
    *finished = 0;
    return sim::Simulation(options).run(program);
  };
  subject.wrap = [finished](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    return std::make_shared<PlantedGang>(std::move(gang), [finished](Gang&, Operation& operation) {
      if ((*finished)++ == 0) corrupt(operation);
    });
  };
  const Counterexample found = expect_caught(
      runs_replay(subject), "results_do_not_depend_on_the_schedule", "different results");
  EXPECT_THAT(found.text, ::testing::HasSubstr("world 2,"));
}

}  // namespace
}  // namespace gang::properties
