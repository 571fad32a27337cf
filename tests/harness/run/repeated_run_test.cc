#include "harness/run/repeated_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/run/fault_file.h"

namespace gang::harness {
namespace {

TEST(RepeatedRun, FewRunsOfManyAreRepeated) {
  std::vector<std::uint64_t> repeated;
  for (std::uint64_t run = 1; run <= 20; ++run)
    if (is_repeated(run)) repeated.push_back(run);
  EXPECT_THAT(repeated, testing::ElementsAre(1, 2, 4, 8, 16));
}

TEST(RepeatedRun, NotOfWhatTheSystemOrOtherProcessesDecide) {
  RunResult result;
  EXPECT_TRUE(can_be_repeated(result));
  result.specification.options.context = sim::ContextKind::parallel;
  EXPECT_FALSE(can_be_repeated(result));
  result = {};
  result.specification.backend = BackendKind::gloo;
  EXPECT_FALSE(can_be_repeated(result));
  result = {};
  result.report.unguided = sim::Unguided::outside;
  EXPECT_FALSE(can_be_repeated(result));
  result.report.unguided = sim::Unguided::clock;
  EXPECT_TRUE(can_be_repeated(result));
}

TEST(RepeatedRun, IsLikeTheFirstInWhatItDoesAndPutsOut) {
  RunResult result;
  result.report.trace.digest = 1;
  result.outputs.digest = 2;
  RunResult again = result;
  const Repeat repeat = [&again](sim::Recording) { return again; };
  EXPECT_TRUE(repeats_itself(result, repeat));
  again.report.trace.digest = 3;
  EXPECT_FALSE(repeats_itself(result, repeat));
  again = result;
  again.outputs.digest = 3;
  EXPECT_FALSE(repeats_itself(result, repeat));
}

TEST(RepeatedRun, WhatDiffersIsNamedBeforeOtherFindings) {
  RunResult result{.is_in_every_schedule = true};
  result.report.findings.push_back({.id = std::string(sim::finding_id::timed_out)});
  int repeats = 0;
  note_nondeterminism(result, [&repeats](sim::Recording trace) {
    EXPECT_EQ(trace, sim::Recording::on);
    RunResult again;
    again.report.trace.events.push_back({.rank = ++repeats});
    return again;
  });
  ASSERT_EQ(result.report.findings.size(), 2U);
  EXPECT_TRUE(is_nondeterministic(result));
  EXPECT_THAT(result.report.findings[0].ranks, testing::ElementsAre(1, 2));
  EXPECT_EQ(repeats, 2);
  EXPECT_FALSE(result.is_in_every_schedule);
  EXPECT_EQ(result.specification.schedule, ScheduleChoice::recheck);
  EXPECT_EQ(result.uncontained, "") << "there are no faults";
}

TEST(RepeatedRun, WhatAFewRepeatsDoNotShowIsToldByTheDetail) {
  RunResult result;
  result.specification.faults = load_faults(R"(fault = [{kind = "crash", ranks = [0]}])");
  note_nondeterminism(result, [](sim::Recording) { return RunResult(); }, "So it is.");
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_THAT(result.report.findings[0].message, testing::EndsWith(" So it is."));
  EXPECT_EQ(result.uncontained, "the finding nondeterminism");
  EXPECT_TRUE(is_failure(result));
}

}  // namespace
}  // namespace gang::harness
