#include "harness/commands/exploration_options.h"

#include <chrono>
#include <sstream>

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

TEST(ProgressText, SaysHowManyRunsHowFastAndWhatIsLeft) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  EXPECT_EQ(progress_text({.schedules = 100'000}, {.runs = 25'000}, milliseconds(500)),
            "25,000 of 100,000 runs, 50,000/s, at most 2 s left");
  EXPECT_EQ(progress_text({.schedules = 3}, {.runs = 1}, seconds(2)),
            "1 of 3 runs, 0.5/s, at most 4 s left");
  const ExplorationOptions in_time{.schedules = any_schedules, .budget = seconds(60)};
  EXPECT_EQ(progress_text(in_time, {.runs = 7}, seconds(1)), "7 runs, 7.0/s, at most 59 s left");
  EXPECT_EQ(progress_text(in_time, {.runs = 7}, seconds(61)), "7 runs, 0.1/s, at most 0 s left");
  const ExplorationOptions both{.schedules = 100, .budget = seconds(60)};
  EXPECT_EQ(progress_text(both, {.runs = 50}, seconds(10)),
            "50 of 100 runs, 5.0/s, at most 10 s left")
      << "the sooner of the two";
  EXPECT_EQ(progress_text(both, {}, seconds(0)), "0 of 100 runs, 0.0/s, at most 1 min left");
  EXPECT_EQ(progress_text(in_time, {.runs = 20, .with_faults = 12, .typed_errors = 5}, seconds(2)),
            "20 runs, 10/s, at most 58 s left; 12 with faults, 5 ended with typed errors");
  EXPECT_THAT(progress_text({.schedules = any_schedules - 1}, {.runs = 1}, seconds(3600)),
              HasSubstr(" left"))
      << "longer than a Duration lasts";
}

TEST(TerminalProgress, WritesOverItsLine) {
  std::ostringstream out;
  const ExplorationOptions options{.schedules = 10};
  const ExplorationProgress progress = terminal_progress(out, options);
  progress({.runs = 1});
  progress({.runs = 2});
  EXPECT_THAT(out.str(), testing::StartsWith("\r\033[K1 of 10 runs, "));
  EXPECT_THAT(out.str(), HasSubstr(" left\r\033[K2 of 10 runs, "));
}

}  // namespace
}  // namespace gang::harness
