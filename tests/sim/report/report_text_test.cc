#include "sim/report/report_text.h"

#include <sstream>

#include "sim/text/text_layout.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Finding mismatch_finding() {
  return {.id = "mismatch_count",
          .ranks = {1, 5},
          .gang = {"dp", "0,2"},
          .call = {.kind = "all_reduce", .sequence = 3, .payload = "sum f32[1024]"},
          .message = "Ranks 1,5 called something else.",
          .location = {"train.cc", 41},
          .consequences = {"rank 3: failed"}};
}

TEST(ReportText, GroupsRanksInTheSameCall) {
  Report report;
  report.outcome = Outcome::deadlock;
  for (int rank = 0; rank < 7; ++rank)
    report.blocked.push_back({.rank = rank,
                              .gang = {"root", "0-7"},
                              .call = {.kind = "barrier", .sequence = 0},
                              .location = {"train.cc", 41},
                              .waits_for = {7},
                              .waits_for_count = 1,
                              .would_time_out_after_ns = 900'000'000'000});
  EXPECT_EQ(to_string(report),
            "DEADLOCK\n"
            "\n"
            "  rank  blocked in             waits for  at\n"
            "  0-6   root[0-7]  barrier #0  7          train.cc:41\n"
            "\n"
            "  Timeout    would fail after 15 min\n");
}

TEST(ReportText, ShowsTheRootCauseFirstAndConsequencesInsideIt) {
  Report report;
  report.outcome = Outcome::failed;
  report.findings = {mismatch_finding(), {.id = "unwaited_work", .message = "Rank 0 dropped it."}};
  EXPECT_EQ(to_string(report),
            "FAILED  mismatch_count\n"
            "\n"
            "  Ranks 1,5 called something else.\n"
            "    then rank 3: failed\n"
            "\n"
            "unwaited_work\n"
            "\n"
            "  Rank 0 dropped it.\n"
            "\n"
            "  Fix        pass the same number of elements on every member\n");
}

void expect_eighty_columns(const Report& report) {
  std::istringstream stream(to_string(report));
  int lines = 0;
  for (std::string line; std::getline(stream, line); ++lines)
    EXPECT_LE(column_count(line), 80U) << line;
  EXPECT_LT(lines, 100);
}

TEST(ReportText, StaysWithinEightyColumnsForLongNames) {
  const std::string name(120, 'n');
  const Report report = run(4, [&name](SimulatedRank& rank) {
    const auto gang = child_of(*rank.root(), {0, 1, 2, 3}, {.name = name});
    if (rank.rank() != 3) gang->barrier({}, CallSite::at(name.c_str(), 4'000'000'000));
  });
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_THAT(report.findings[0].message, HasSubstr(name));
  expect_eighty_columns(report);
}

TEST(ReportText, StaysWithinEightyColumnsForThousandsOfRanks) {
  const Report report = run(4000, [](SimulatedRank& rank) {
    RandomStream random = rank.random_stream("leave");
    if (random.below(2) == 0) rank.root()->barrier();
  });
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_GT(report.blocked.size(), 1000U);
  expect_eighty_columns(report);
}

TEST(ReportText, ARingOfSendsIsOneRow) {
  Report report{.outcome = Outcome::deadlock};
  for (int rank = 0; rank < 1000; ++rank)
    report.blocked.push_back({.rank = rank,
                              .gang = {"root", "0-999"},
                              .call = {.kind = "send",
                                       .payload = "f32[4]",
                                       .direction = CallText::Direction::to,
                                       .peer = (rank + 1) % 1000},
                              .location = {"ring.cc", 4},
                              .waits_for = {(rank + 1) % 1000},
                              .waits_for_count = 1});
  EXPECT_THAT(to_string(report), HasSubstr("0-999  root[0-999]  send f32[4] to one rank each  -"));
}

TEST(ReportText, SaysWhereMembersWhoDivergeHadPartedUnnoticed) {
  const auto at = [](std::vector<int> ranks, std::uint64_t sequence, std::uint32_t line) {
    return CallSummary{.ranks = std::move(ranks),
                       .gang = {"dp", "0-2"},
                       .call = {.kind = "all_reduce", .sequence = sequence},
                       .location = {"a.py", line, "step"}};
  };
  Report report;
  report.findings.push_back(
      {.id = "mismatch_operation",
       .message = "Rank 2 called something else.",
       .divergence = Divergence{.parted = {at({0, 1}, 5, 7), at({2}, 5, 8)},
                                .last_common = at({0, 1, 2}, 5, 7),
                                .next = {at({0, 1}, 6, 8), {.ranks = {2}, .note = "returned"}}}});
  EXPECT_THAT(
      to_string(report),
      HasSubstr("  Before that, they matched all_reduce #5 from different places: one may have\n"
                "  skipped a call there.\n"
                "\n"
                "  rank  calls on dp[0-2]  at\n"
                "  0-1   all_reduce #5     a.py:7 in step\n"
                "  2     all_reduce #5     a.py:8 in step\n"
                "  0-1   all_reduce #6     a.py:8 in step\n"
                "  2     (returned)\n"));
  report.findings[0].divergence->last_common.call.sequence = 6;
  EXPECT_THAT(to_string(report), HasSubstr("  2      all_reduce #5     a.py:8 in step\n"
                                           "  all 3  all_reduce #6     a.py:7 in step\n"));
}

TEST(ReportText, SaysInWhichFunctionsMembersDiverge) {
  const auto row_of = [](const std::string& function, unsigned line = 7) {
    const CallSummary call{.ranks = {0},
                           .gang = {"dp", "0-1"},
                           .call = {.kind = "barrier"},
                           .location = {line == 0 ? "" : "a.py", line, function}};
    Report report;
    report.findings.push_back({.id = "mismatch_operation",
                               .message = "Rank 0 called something else.",
                               .divergence = Divergence{.next = {call}}});
    return to_string(report);
  };
  EXPECT_THAT(row_of("Trainer.save_2"),
              HasSubstr("0     barrier           a.py:7 in Trainer.save_2\n"));
  for (const char* other : {"", "<module>", "void train(gang::Gang&)"})
    EXPECT_THAT(row_of(other), HasSubstr("0     barrier           a.py:7\n")) << other;
  EXPECT_THAT(row_of("prüfe"), HasSubstr("a.py:7 in prüfe\n"));
  EXPECT_THAT(row_of("save", 0), testing::Not(HasSubstr("save")));
}

TEST(ReportText, OfManyFindingsOfAKindAFewAreShown) {
  Report report;
  for (int rank = 0; rank < 100; ++rank)
    report.findings.push_back({.id = "unreceived_message",
                               .ranks = {rank},
                               .message = "Message " + std::to_string(rank) + " is left."});
  const std::string text = to_string(report);
  EXPECT_THAT(text, HasSubstr("Message 3 is left."));
  EXPECT_THAT(text, testing::Not(HasSubstr("Message 4 is left.")));
  EXPECT_THAT(text, HasSubstr("96 more unreceived_message findings, on ranks 4-99"));
}

TEST(ReportText, TellsContextsOfOneRankApart) {
  Report report;
  report.outcome = Outcome::deadlock;
  report.blocked = {{.rank = 2, .call = {.kind = "join of loader"}},
                    {.rank = 2, .context = "loader", .call = {.kind = "lock of a mutex"}}};
  EXPECT_THAT(to_string(report), HasSubstr("2/loader  lock of a mutex"));
}

TEST(ReportText, TheHeadlineEndsWithTheRunAtTheRightMargin) {
  Report report{.outcome = Outcome::deadlock};
  report.findings = {mismatch_finding()};
  const MarkedText text = headline(report, "a.toml, world 4");
  EXPECT_THAT(text.spans(),
              ElementsAre(TextSpan{"DEADLOCK", TextRole::bad_verdict},
                          TextSpan{"  mismatch_count", TextRole::strong},
                          TextSpan{std::string(41, ' '), TextRole::plain},
                          TextSpan{"a.toml, world 4", TextRole::faint}, TextSpan{"\n"}));
  EXPECT_EQ(headline(Report{}).spans().front(), (TextSpan{"COMPLETED", TextRole::good_verdict}));
  report.outcome = Outcome::completed;
  EXPECT_EQ(headline(report).spans().front(), (TextSpan{"COMPLETED", TextRole::bad_verdict}));
}

TEST(ReportText, WhatIsQueuedStandsBesideWhatItIsBehind) {
  Report report{.outcome = Outcome::deadlock};
  for (int rank = 0; rank < 32; ++rank)
    report.blocked.push_back(
        {.rank = rank,
         .gang = {"root", "0-31"},
         .call = {.kind = "barrier", .sequence = 0},
         .location = {"ring.cc", 5},
         .behind = QueuedBehind{
             {"root", "0-31"},
             {.kind = "send", .direction = CallText::Direction::to, .peer = (rank + 1) % 32},
             {"ring.cc", 4}}});
  const std::string text = to_string(report);
  EXPECT_THAT(text, HasSubstr("  0-31  root[0-31]  barrier #0 "));
  EXPECT_THAT(text, HasSubstr("        behind root[0-31]  send to one rank each "));
  EXPECT_THAT(text, HasSubstr(" ring.cc:4\n"));
}

TEST(ReportText, SaysWhatCallsOutsideTheCauseWaitFor) {
  Report report{.outcome = Outcome::deadlock};
  report.blocked = {{.rank = 0, .call = {.kind = "sleep"}},
                    {.rank = 1, .call = {.kind = "join of loader"}, .is_core = false}};
  EXPECT_THAT(to_string(report), HasSubstr("\n  Blocked behind these:\n\n"));
}

}  // namespace
}  // namespace gang::sim
