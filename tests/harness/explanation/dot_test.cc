#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/collective.h"
#include "harness/explanation/grouped_waits.h"
#include "harness/text/output_file.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

// Ranks 0 and 1 wait for each other, 2 for either of them, and 0 for 3 too, which has returned.
sim::Report some_deadlock() {
  sim::Report report{.outcome = sim::Outcome::deadlock};
  report.blocked = {{.rank = 0,
                     .gang = {"dp", "0,1"},
                     .call = {.kind = "barrier", .sequence = 0, .qualifiers = "\"a \\ \n <b>\""},
                     .waits_for = {1, 3}},
                    {.rank = 1,
                     .gang = {"tp", "0,1"},
                     .call = {.kind = "barrier", .sequence = 0},
                     .waits_for = {0}},
                    {.rank = 2,
                     .gang = {"root", "0-3"},
                     .call = {.kind = "recv",
                              .payload = "f32[1]",
                              .direction = CallText::Direction::from,
                              .peer = any_rank},
                     .waits_for = {0, 1},
                     .waits_for_any = true,
                     .is_core = false}};
  return report;
}

TEST(Dot, TellsCoreAlternativesAndUnblockedRanksApart) {
  const std::string text = to_dot(some_deadlock());
  EXPECT_THAT(text, testing::StartsWith("digraph wait_for {\n"));
  EXPECT_THAT(text, HasSubstr("n1 [label=\"rank 1\\ntp[0,1]  barrier #0\", color=\"#a8201a\""));
  EXPECT_THAT(text, HasSubstr("n2 [label=\"rank 2\\nroot[0-3]  recv f32[1] from any rank\", shape="
                              "ellipse];"));
  EXPECT_THAT(text, HasSubstr("n3 [label=\"rank 3\\nnot blocked\", style=dotted];"));
  EXPECT_THAT(text, HasSubstr("n1 -> n0 [color=\"#a8201a\", penwidth=2];"));
  EXPECT_THAT(text, HasSubstr("n2 -> n0 [style=dashed, label=\"any\"];"));
}

TEST(Dot, TextsOfTheProgramStayInsideTheirQuotes) {
  EXPECT_THAT(to_dot(some_deadlock()), HasSubstr(R"(barrier #0 \"a \\   <b>\"")"));
}

TEST(Dot, SaysIfNoRankWaits) { EXPECT_THAT(to_dot({}), HasSubstr("nobody waits")); }

TEST(Dot, GraphvizReadsIt) {
  if (std::system("dot -V >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "runs where Graphviz is installed: apt-get install graphviz";
  for (const sim::Report& report : {some_deadlock(), sim::Report{}}) {
    const std::string path = gang::test::temporary_directory() + "graph.dot";
    OutputFile{"file", path}.commit(to_dot(report));
    const std::string command = "dot -Tsvg -o /dev/null '" + path + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }
}

TEST(Dot, WhereRanksWaitNobodyIsSaidNotTo) {
  EXPECT_THAT(to_dot(some_deadlock()), testing::Not(HasSubstr("nobody waits")));
}

TEST(Dot, AnEdgeFromTheCoreToARankThatIsNotBlockedIsOfTheCore) {
  EXPECT_THAT(to_dot(some_deadlock()), HasSubstr("n0 -> n3 [color=\"#a8201a\", penwidth=2];"));
}

TEST(Dot, AContextIsNamedBesideItsRank) {
  sim::Report report = some_deadlock();
  report.blocked[1].context = "loader";
  EXPECT_THAT(to_dot(report), HasSubstr("rank 1 / loader\\n"));
}

TEST(Dot, WhatACallIsQueuedBehindIsBelowIt) {
  sim::Report report = some_deadlock();
  report.blocked[1].behind.emplace();
  report.blocked[1].behind->gang = {"dp", "0,2"};
  report.blocked[1].behind->call = {.kind = "scan", .sequence = 2};
  report.blocked[1].behind->location = {"t.cc", 9};
  EXPECT_THAT(to_dot(report),
              HasSubstr("tp[0,1]  barrier #0\\nbehind dp[0,2]  scan #2\\nt.cc:9\""));
}

TEST(Dot, LabelsKeepLettersOfAllLanguages) {
  sim::Report report = some_deadlock();
  report.blocked[1].context = "größer → 大";
  EXPECT_THAT(to_dot(report), HasSubstr("rank 1 / größer → 大\\n"));
}

TEST(Dot, AnEdgeOfTheCoreMayBeAnAlternative) {
  sim::Report report = some_deadlock();
  report.blocked[2].is_core = true;
  EXPECT_THAT(to_dot(report),
              HasSubstr("n2 -> n0 [style=dashed, label=\"any\", color=\"#a8201a\", penwidth=2];"));
}

}  // namespace
}  // namespace gang::harness
