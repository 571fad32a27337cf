#include "harness/backends/rank_process.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/fake_gang.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using testing::HasSubstr;

class ProcessOfARank : public testing::Test {
 protected:
  RankOutcome run(Program::Run body, std::shared_ptr<Gang>* seen = nullptr) {
    const Program program{.name = "test", .description = "", .run = std::move(body)};
    return run_rank({.program = program,
                     .parameters = parameters_,
                     .runtime = *runtime_,
                     .rank = 1,
                     .world_size = 2,
                     .seed = 7},
                    [seen] {
                      auto gang = make_fake_gang({.rank = 1, .size = 2});
                      if (seen != nullptr) *seen = gang;
                      return gang;
                    });
  }

  ParameterValues parameters_{{}, {}};
  std::shared_ptr<Runtime> runtime_ = make_real_runtime();
};

TEST_F(ProcessOfARank, PutsOutWhatItsRankDoesAndClosesTheGang) {
  std::shared_ptr<Gang> gang;
  const RankOutcome outcome = run(
      [](Rank& rank) {
        rank.output("rank", rank.rank());
        rank.note("of " + std::to_string(rank.world_size()));
      },
      &gang);
  EXPECT_FALSE(outcome.failure);
  ASSERT_EQ(outcome.outputs.size(), 1U);
  EXPECT_EQ(outcome.outputs[0].data[0], std::byte{1});
  EXPECT_EQ(outcome.note, "of 2");
  EXPECT_TRUE(gang->is_closed());
}

TEST_F(ProcessOfARank, WhatItThrowsIsItsFailure) {
  const RankOutcome outcome = run([](Rank& rank) {
    rank.wrong_result("two and two is five");
    throw std::runtime_error("out of paper");
  });
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->text, HasSubstr("out of paper"));
  EXPECT_EQ(outcome.wrong_result, "two and two is five");
}

TEST_F(ProcessOfARank, ThatDoesNotComeToItsEndFailsWithoutAKind) {
  OutputRecorder recorder(2, KeepOutputs::data);
  const RunContext context{.parameters = parameters_, .recorder = recorder};
  const Program program{.name = "test", .description = "", .run = nullptr};
  sim::SimulationOptions options;
  options.world_size = 2;
  const auto outcomes = run_rank_processes({program, context, options}, 10s, [](int rank) {
    if (rank == 1) ::_exit(3);
    return RankOutcome{.note = "fine"};
  });
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].note, "fine");
  ASSERT_TRUE(outcomes[1].failure);
  EXPECT_FALSE(outcomes[1].failure->kind);
  EXPECT_THAT(outcomes[1].failure->text, HasSubstr("exit status 3"));
}

// What a rank says in each of its lives; it is killed in the first.
RankOutcome live(int incarnation) {
  if (incarnation == 0) ::raise(SIGKILL);
  return {.note = "life " + std::to_string(incarnation)};
}

TEST(RunIncarnations, OneThatIsKilledBeginsAnew) {
  const RankOutcome outcome = run_incarnations({.pause = 1ms}, live);
  EXPECT_FALSE(outcome.failure);
  EXPECT_EQ(outcome.note, "life 1");
  EXPECT_EQ(outcome.struck, 1U);
}

TEST(RunIncarnations, WithoutARestartThereIsOne) {
  const RankOutcome outcome = run_incarnations({}, live);
  ASSERT_TRUE(outcome.failure);
  EXPECT_THAT(outcome.failure->text, HasSubstr("was killed by signal 9"));
}

TEST(RunIncarnations, OneThatEndsByItselfOrForAnotherReasonDoesNotBeginAnew) {
  const auto well = run_incarnations({.pause = 1ms}, [](int incarnation) {
    return RankOutcome{.note = "life " + std::to_string(incarnation)};
  });
  EXPECT_EQ(well.note, "life 0");
  const auto broken = run_incarnations({.pause = 1ms}, [](int) -> RankOutcome { ::_exit(3); });
  ASSERT_TRUE(broken.failure);
  EXPECT_THAT(broken.failure->text, HasSubstr("exit status 3"));
}

TEST_F(ProcessOfARank, SaysWhereAResultIsWrong) {
  const RankOutcome outcome = run([](Rank& rank) { rank.wrong_result("not this"); });
  EXPECT_THAT(to_string(outcome.wrong_result_location),
              testing::StartsWith("rank_process_test.cc:"));
}

TEST_F(ProcessOfARank, HasItsSeedAndItsLife) {
  double drawn[3] = {};
  int life = 0;
  const auto draw = [&](std::uint64_t seed, double& number) {
    const Program program{.name = "test", .description = "", .run = [&](Rank& rank) {
                            number = rank.random_stream("x").uniform();
                            life = rank.incarnation();
                          }};
    run_rank({.program = program,
              .parameters = parameters_,
              .runtime = *runtime_,
              .rank = 1,
              .world_size = 2,
              .seed = seed,
              .incarnation = 3},
             [] { return make_fake_gang({.rank = 1, .size = 2}); });
  };
  draw(7, drawn[0]);
  draw(7, drawn[1]);
  draw(8, drawn[2]);
  EXPECT_EQ(drawn[0], drawn[1]);
  EXPECT_NE(drawn[0], drawn[2]);
  EXPECT_EQ(life, 3);
}

// Rank 1 ends `late` after rank 0.
std::vector<RankOutcome> outcomes_within(Duration timeout, Duration slack, Duration late) {
  const ParameterValues parameters{{}, {}};
  OutputRecorder recorder(2, KeepOutputs::data);
  const RunContext context{.parameters = parameters, .recorder = recorder};
  const Program program{.name = "test", .description = "", .run = nullptr};
  sim::SimulationOptions options;
  options.world_size = 2;
  options.timeout = timeout;
  return run_rank_processes({program, context, options}, slack, [late](int rank) {
    if (rank == 1) std::this_thread::sleep_for(late);
    return RankOutcome{.note = "fine"};
  });
}

TEST(RunRankProcesses, OthersHaveTheTimeoutAndTheSlack) {
  const auto outcomes = outcomes_within(100ms, 50ms, 1000s);
  EXPECT_EQ(outcomes[0].note, "fine");
  ASSERT_TRUE(outcomes[1].failure);
  EXPECT_EQ(outcomes[1].failure->text,
            "its process had not ended 150 ms after the first rank, and was killed");
}

TEST(RunRankProcesses, WithoutATimeoutTheyHaveAnyTime) {
  EXPECT_EQ(outcomes_within(no_timeout, 10s, 100ms)[1].note, "fine");
  EXPECT_EQ(outcomes_within(no_timeout - 1s, 10s, 100ms)[1].note, "fine");
}

TEST(RunIncarnations, TheNextLifeBeginsAfterThePause) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(run_incarnations({.pause = 60ms}, live).note, "life 1");
  EXPECT_GE(std::chrono::steady_clock::now() - began, 60ms);
}

}  // namespace
}  // namespace gang::harness
