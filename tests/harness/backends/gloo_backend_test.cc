#include "harness/backends/gloo_backend.h"

#include <signal.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/root_gang.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using testing::HasSubstr;

class GlooBackend : public testing::Test {
 protected:
  void SetUp() override {
    if (!gloo_availability().is_available)
      GTEST_SKIP() << "runs where gloo is built: install libgloo-dev";
  }

  static RunResult run_on(int world, Program::Run body, Duration timeout = 20s) {
    const Program program{.name = "test", .description = "", .run = std::move(body)};
    return run(program,
               {.program = "test",
                .world_size = world,
                .backend = BackendKind::gloo,
                .options = {.timeout = timeout}},
               {.outputs = KeepOutputs::data});
  }
};

TEST_F(GlooBackend, RunsEveryRankAndRecordsWhatItPutsOut) {
  const RunResult result = run_on(3, [](Rank& rank) {
    std::int32_t value = rank.rank() + 1;
    rank.root()->all_reduce(view_of(value), ReduceOperation::sum);
    rank.output("sum", value);
    rank.output("random", static_cast<double>(rank.random_stream("x").uniform()));
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
  ASSERT_EQ(result.outputs.by_rank.size(), 3U);
  for (const auto& outputs : result.outputs.by_rank) {
    ASSERT_EQ(outputs.size(), 2U);
    EXPECT_EQ(outputs[0].data[0], std::byte{6});
  }
}

TEST_F(GlooBackend, AnExceptionOnOneRankEndsAllAtOnce) {
  const auto began = std::chrono::steady_clock::now();
  const RunResult result = run_on(3, [](Rank& rank) {
    if (rank.rank() == 1) throw std::runtime_error("out of paper");
    rank.root()->barrier();
  });
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::rank_failed);
  EXPECT_THAT(result.report.findings[0].message, HasSubstr("Rank 1 failed: out of paper"));
}

TEST_F(GlooBackend, ARankThatDiesIsNamed) {
  const RunResult result = run_on(3, [](Rank& rank) {
    if (rank.rank() == 2) ::raise(SIGKILL);
    rank.root()->barrier();
  });
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_THAT(result.report.findings[0].message,
              HasSubstr("Rank 2 failed: its process was killed by signal 9"));
}

TEST_F(GlooBackend, CallsThatDoNotMatchAreNamedAsInSimulation) {
  const RunResult result = run_on(2, [](Rank& rank) {
    std::vector<float> values(rank.rank() == 0 ? 4 : 5);
    rank.root()->all_reduce(view(values), ReduceOperation::sum);
  });
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::mismatch_count);
}

TEST_F(GlooBackend, ARankThatNeverComesIsATimeout) {
  const RunResult result = run_on(
      2,
      [](Rank& rank) {
        if (rank.rank() == 0) rank.root()->barrier();
        std::this_thread::sleep_for(1s);
      },
      200ms);
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::timed_out);
}

TEST_F(GlooBackend, StartsEightProcessesInLessThanASecond) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(run_on(8, [](Rank&) {}).holds());
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);  // a second where nothing else runs
}

TEST_F(GlooBackend, WrongResultsAreFindings) {
  const RunResult result = run_on(2, [](Rank& rank) {
    if (rank.rank() == 1) rank.wrong_result("not this");
  });
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::wrong_result);
  EXPECT_THAT(to_string(result.report.findings[0].location),
              testing::StartsWith("gloo_backend_test.cc:"));
}

// -- Processes whose outcomes are examined --

class GlooProcessesOutcomes : public GlooBackend {
 protected:
  static std::vector<RankOutcome> outcomes_of(const Program::Run& body,
                                              const GlooProcessOptions& process_options) {
    const Program program{.name = "test", .description = "", .run = body};
    const ParameterValues parameters{{}, {}};
    OutputRecorder recorder(2, KeepOutputs::data);
    const RunContext context{.parameters = parameters, .recorder = recorder, .seed = 5};
    sim::SimulationOptions options;
    options.world_size = 2;
    options.timeout = 5s;
    return run_gloo_processes({program, context, options}, process_options);
  }
};

TEST_F(GlooProcessesOutcomes, CountOperationsAndTheFaultsOfTheirRank) {
  const ProcessFault late{.kind = ProcessFaultKind::delay, .rank = 1, .operation = 1, .span = 1ms};
  const auto outcomes = outcomes_of(
      [](Rank& rank) {
        rank.root()->barrier();
        rank.root()->barrier();
        rank.root()->barrier();
      },
      {.faults = {&late, 1}});
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_FALSE(outcomes[rank].failure) << outcomes[rank].failure->text;
    EXPECT_EQ(outcomes[rank].operations, 3U);
    EXPECT_EQ(outcomes[rank].struck, rank);
  }
}

TEST_F(GlooProcessesOutcomes, ARankIsRestartedAsItsNextLife) {
  const ProcessFault restart{.kind = ProcessFaultKind::restart, .rank = 1, .pause = 1ms};
  const auto outcomes = outcomes_of(
      [](Rank& rank) {
        rank.note("life " + std::to_string(rank.incarnation()));
        if (rank.incarnation() == 0) rank.root()->barrier();
      },
      {.faults = {&restart, 1}});
  EXPECT_EQ(outcomes[0].note, "life 0");
  EXPECT_EQ(outcomes[1].struck, 1U);
}

TEST_F(GlooProcessesOutcomes, CallsAreComparedOnlyIfAskedFor) {
  const auto body = [](Rank& rank) {
    std::int32_t value = 0;
    rank.root()->broadcast(view_of(value), rank.rank());
  };
  const auto compared = outcomes_of(body, {});
  ASSERT_TRUE(compared[0].failure);
  EXPECT_EQ(compared[0].failure->kind, GangErrorKind::mismatch);
  EXPECT_EQ(compared[0].failure->difference, CallDifference::root);
  for (const RankOutcome& outcome : outcomes_of(body, {.validation = CallValidation::off}))
    EXPECT_FALSE(outcome.failure && outcome.failure->kind == GangErrorKind::mismatch);
}

TEST_F(GlooBackend, RandomDataIsThatOfTheSeedAsInSimulation) {
  const Program program{.name = "test", .description = "", .run = [](Rank& rank) {
                          rank.output("random", rank.random_stream("x").uniform());
                        }};
  const auto outputs = [&program](BackendKind backend, std::uint64_t seed) {
    return run(program,
               {.program = "test",
                .world_size = 2,
                .backend = backend,
                .options = {.seed = seed, .timeout = 20s}},
               {.outputs = KeepOutputs::data})
        .outputs.by_rank;
  };
  EXPECT_EQ(outputs(BackendKind::gloo, 5), outputs(BackendKind::sim, 5));
  EXPECT_NE(outputs(BackendKind::gloo, 5), outputs(BackendKind::gloo, 6));
}

TEST_F(GlooBackend, SaysHowLongItTook) {
  const RunResult result = run_on(1, [](Rank&) { std::this_thread::sleep_for(5ms); });
  EXPECT_GE(result.report.wall_time, 5ms);
}

}  // namespace
}  // namespace gang::harness
