#include "harness/gtest_support.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "harness/run/run_file.h"
#include "harness/text/output_file.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

GANG_TEST(GangTest, RunsItsBodyOnEveryRank, 8) {
  std::int32_t count = 1;
  rank.root()->all_reduce(view_of(count), ReduceOperation::sum);
  EXPECT_EQ(count, 8);
  EXPECT_EQ(rank.world_size(), 8);
}

GANG_TEST(GangTest, GivesRanksTheirRandomStreams, 2) {
  std::uint64_t drawn = rank.random_stream("data")();
  std::uint64_t other = drawn;
  rank.root()->broadcast(view_of(other));
  EXPECT_EQ(rank.rank() == 0, drawn == other);
}

// What the failures of `body` say.
template <typename Body>
std::string failures_of(const Body& body) {
  testing::TestPartResultArray results;
  {
    const testing::ScopedFakeTestPartResultReporter reporter{
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results};
    body();
  }
  std::string text;
  for (int i = 0; i < results.size(); ++i) text += results.GetTestPartResult(i).message();
  return text;
}

TEST(ExpectHolds, FailsWithTheReportAndTheCommandThatRepeatsIt) {
  const std::string text = failures_of([] {
    EXPECT_HOLDS(4, [](Rank& rank) {
      if (rank.rank() != 2) rank.root()->barrier();
    });
  });
  EXPECT_THAT(text, HasSubstr("participant_missing"));
  EXPECT_THAT(text, HasSubstr("gtest_support_test.cc:"));
  EXPECT_THAT(text, HasSubstr("GANGSIM_SEED=1 "));
  EXPECT_THAT(text, HasSubstr("--gtest_filter=ExpectHolds.FailsWithTheReport"));
}

TEST(ExpectHolds, LetsExpectationsFailInsideRanks) {
  const std::string text =
      failures_of([] { EXPECT_HOLDS(4, [](Rank& rank) { EXPECT_NE(rank.rank(), 3); }); });
  EXPECT_THAT(text, HasSubstr("rank.rank()"));
}

TEST(ExpectHolds, ReturnsTheResult) {
  const RunResult result = EXPECT_HOLDS(3, [](Rank& rank) { rank.root()->barrier(); });
  EXPECT_EQ(result.report.counts.rank_operations, 3U);
}

// Fails on two of four ranks, with GANGSIM_REPORT set to `place`.
std::string failure_reported_in(const std::string& place) {
  ::setenv("GANGSIM_REPORT", place.c_str(), 1);
  const std::string text = failures_of([] {
    EXPECT_HOLDS(4, [](Rank& rank) {
      if (rank.rank() < 2) rank.root()->barrier();
    });
  });
  ::unsetenv("GANGSIM_REPORT");
  return text;
}

TEST(ReportOfATest, IsWrittenIntoTheFolderThatTheEnvironmentNames) {
  const std::string folder = test::temporary_directory() + "reports";
  const std::string path = folder + "/ReportOfATest.IsWrittenIntoTheFolderThatTheEnvironmentNames";
  EXPECT_THAT(failure_reported_in(folder), HasSubstr("\n  Report     " + path + ".html\n"));
  EXPECT_THAT(read_file("report", path + ".html"), HasSubstr("participant_missing"));
  EXPECT_FALSE(read_run_file(path + ".json").report.timeline.empty());
}

TEST(ReportOfATest, IsWrittenIntoTheFileThatTheEnvironmentNames) {
  const std::string path = test::temporary_directory() + "report.html";
  EXPECT_THAT(failure_reported_in(path), HasSubstr("Report     " + path));
  EXPECT_THAT(read_file("report", path), testing::StartsWith("<!doctype html>"));
}

TEST(ReportOfATest, ThatCannotBeWrittenIsSaidBesideTheFailure) {
  const std::string text = failure_reported_in("/proc/absent/out.html");
  EXPECT_THAT(text, HasSubstr("participant_missing"));
  EXPECT_THAT(text, HasSubstr("GANGSIM_REPORT /proc/absent/out.html: cannot be written"));
}

TEST(TestSpecification, TakesTheSeedFromTheEnvironment) {
  ::setenv("GANGSIM_SEED", "77", 1);
  EXPECT_EQ(test_specification(2).options.seed, 77U);
  ::setenv("GANGSIM_SEED", "many", 1);
  const std::string text = failures_of([] { expect_holds(1, [](Rank&) {}); });
  ::unsetenv("GANGSIM_SEED");
  EXPECT_THAT(text, HasSubstr("--seed is 'many'"));
}

GANG_TEST_IN_EVERY_SCHEDULE(EverySchedule, SumsMessagesInAnyOrder, 4) {
  std::int32_t sum = 0;
  std::int32_t value = rank.rank();
  if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
  for (int i = 1; i < 4; ++i) {
    rank.root()->recv(view_of(value));
    sum += value;
  }
  EXPECT_EQ(sum, 6);
}

TEST(GtestSupport, AnExpectationThatOnlyOneScheduleBreaksIsFound) {
  const auto second_rank_first = [](Rank& rank) {
    std::int32_t value = rank.rank();
    if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
    EXPECT_NE(rank.root()->recv(view_of(value)).source_rank, 2);
    rank.root()->recv(view_of(value));
  };
  EXPECT_THAT(failures_of([&] { expect_holds_in_every_schedule(3, second_rank_first); }),
              HasSubstr("source_rank"));
}

TEST(GtestSupport, SaysWhatDecidedWhereOneScheduleHangs) {
  const std::string text = failures_of([] {
    expect_holds_in_every_schedule(3, [](Rank& rank) {
      std::int32_t value = 0;
      if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
      const int first = rank.root()->recv(view_of(value)).source_rank;
      rank.root()->recv(view_of(value), first == 2 ? 2 : any_rank);
    });
  });
  EXPECT_THAT(text, HasSubstr("Decisive: "));
  EXPECT_THAT(text, HasSubstr("DEADLOCK"));
}

TEST(GtestSupport, DoesNotClaimMoreThanItHasSeen) {
  const std::string text = failures_of([] {
    expect_holds_in_every_schedule(2, [](Rank& rank) {
      for (int i = 0; i < 20; ++i) rank.runtime().yield();
    });
  });
  EXPECT_THAT(text, HasSubstr("not proved: a run depends on more polls"));
}

}  // namespace
}  // namespace gang::harness
