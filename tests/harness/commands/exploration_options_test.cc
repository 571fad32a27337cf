#include "harness/commands/exploration_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/run/fault_file.h"
#include "sim/further_runs/every_schedule.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ExplorationOptions, AreSetByTheirOptions) {
  ExplorationOptions options;
  strategy_option(options).set("pct:4");
  budget_option(options).set("1.5min");
  EXPECT_EQ(options.strategy, Strategy::pct);
  EXPECT_EQ(options.depth, 4);
  EXPECT_EQ(options.budget, std::chrono::seconds(90));
  EXPECT_THAT([&] { strategy_option(options).set("bfs"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must be one of: auto, exhaustive")));
  EXPECT_THAT([&] { budget_option(options).set("0s"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("must be more than 0")));
}

TEST(ExplorationOptions, MustFitWhatIsRun) {
  const auto check = [](Strategy strategy, const RunSpecification& specification, int world_size) {
    return [=] { check_strategy({.strategy = strategy}, specification, world_size); };
  };
  RunSpecification elsewhere;
  elsewhere.backend = BackendKind::sim_gloo;
  RunSpecification with_faults = elsewhere;
  with_faults.faults = load_faults("one_crash");
  constexpr int most = sim::most_explored_ranks;
  for (const Strategy strategy : {Strategy::automatic, Strategy::random}) {
    EXPECT_NO_THROW(check(strategy, elsewhere, 2)());
    EXPECT_NO_THROW(check(strategy, {}, most + 1)());
  }
  EXPECT_NO_THROW(check(Strategy::exhaustive, {}, 2)());
  EXPECT_NO_THROW(check(Strategy::exhaustive, elsewhere, 2)());
  RunSpecification in_parallel;
  in_parallel.options.context = sim::ContextKind::parallel;
  EXPECT_THAT(check(Strategy::exhaustive, in_parallel, 2),
              ThrowsMessage<InvalidArgument>(HasSubstr("is 'exhaustive', but --context parallel")));
  for (const Strategy strategy : {Strategy::pct, Strategy::pos}) {
    EXPECT_NO_THROW(check(strategy, {}, most)());
    EXPECT_NO_THROW(check(strategy, elsewhere, 2)());
    EXPECT_THAT(check(strategy, {}, most + 1),
                ThrowsMessage<InvalidArgument>(HasSubstr("must be random")));
    EXPECT_THAT(check(strategy, with_faults, 2),
                ThrowsMessage<InvalidArgument>(HasSubstr("must be random")));
  }
}

}  // namespace
}  // namespace gang::harness
