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

}  // namespace
}  // namespace gang::harness
