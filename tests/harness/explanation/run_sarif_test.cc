#include "harness/explanation/run_sarif.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/program_file/program_source.h"
#include "harness/programs/all_programs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

using testing::HasSubstr;

std::vector<SarifResult> sarif_of(const std::string& program) {
  const ProgramSource source = find_program_source(with_faulty_programs(all_programs()), program);
  SourceTree tree(GANGSIM_SOURCE_DIR);
  return to_sarif(run(source.program, source.specification), tree);
}

std::string file_called(const std::string& name) {
  return std::string(GANGSIM_SOURCE_DIR "/tests/programs/") + name;
}

TEST(RunSarif, ADeadlockIsAtItsCallWithTheOtherRanksCalls) {
  const auto results = sarif_of(file_called("tp_dp_deadlock.toml"));
  ASSERT_EQ(results.size(), 1U);
  const SarifResult& result = results.front();
  EXPECT_EQ(result.rule, "cross_gang_cycle");
  EXPECT_EQ(result.level, SarifLevel::error);
  EXPECT_EQ(result.advice, "call the gangs in one order on every rank");
  EXPECT_THAT(result.message, HasSubstr("Ranks 0,3 called dp"));
  EXPECT_THAT(result.message, HasSubstr("\nReproduce: gangsim run "));
  ASSERT_TRUE(result.place);
  EXPECT_EQ(result.place->uri, "tests/programs/tp_dp_deadlock.toml");
  EXPECT_EQ(result.place->line, 6);
  ASSERT_EQ(result.related.size(), 2U);
  EXPECT_EQ(result.related[0].line, 6);
  EXPECT_EQ(result.related[0].message, "ranks 0,3: all_reduce #0 sum f32[1024] on dp (2 gangs)");
  EXPECT_EQ(result.related[1].line, 10);
  EXPECT_EQ(result.related[1].message, "ranks 1-2: all_reduce #0 sum f32[1024] on tp (2 gangs)");
}

TEST(RunSarif, AMismatchIsBesideTheCallsThatItDiffersFrom) {
  const auto results = sarif_of("last_batch");
  ASSERT_FALSE(results.empty());
  EXPECT_EQ(results.front().rule, "mismatch_count");
  ASSERT_TRUE(results.front().place);
  EXPECT_THAT(results.front().place->uri, testing::StartsWith("harness/programs/faulty/"));
}

TEST(RunSarif, ARunThatHoldsHasNoResult) { EXPECT_TRUE(sarif_of("ring").empty()); }

TEST(RunSarif, WhatIsLeftBehindIsAWarning) {
  const auto results = sarif_of("forgotten_wait");
  ASSERT_FALSE(results.empty());
  EXPECT_EQ(results.front().rule, "unwaited_work");
  EXPECT_EQ(results.front().level, SarifLevel::warning);
}

TEST(RunSarif, CallsInSwappedPlacesAreAWarningAtThoseOfTheFew) {
  RunResult result;
  result.report.crossed_calls = {{.most = {.ranks = {0, 1},
                                           .gang = {"dp", "0-2"},
                                           .call = {.kind = "all_reduce", .sequence = 1},
                                           .location = {"a.py", 5}},
                                  .others = {.ranks = {2},
                                             .gang = {"dp", "0-2"},
                                             .call = {.kind = "all_reduce", .sequence = 1},
                                             .location = {"a.py", 6}},
                                  .second = 2}};
  SourceTree tree(GANGSIM_SOURCE_DIR);
  const auto results = to_sarif(result, tree);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].rule, "crossed_calls");
  EXPECT_EQ(results[0].level, SarifLevel::warning);
  EXPECT_THAT(results[0].message, HasSubstr("Rank 2 called all_reduce #1 on dp[0-2] at a.py:6"));
  EXPECT_EQ(results[0].place, (SarifPlace{.uri = "a.py", .line = 6}));
  EXPECT_THAT(results[0].related,
              testing::ElementsAre(SarifPlace{
                  .uri = "a.py", .line = 5, .message = "ranks 0-1: all_reduce #1 on dp[0-2]"}));
}

TEST(RunSarif, WhereMembersPartedIsBesideWhereTheyDiverge) {
  const auto at = [](int rank, std::uint32_t line) {
    return sim::CallSummary{
        .ranks = {rank}, .call = {.kind = "barrier"}, .location = {"a.py", line}};
  };
  RunResult result;
  result.report.findings = {{.id = "mismatch_operation",
                             .divergence = sim::Divergence{.parted = {at(0, 1), at(1, 2)},
                                                           .next = {at(0, 3), at(1, 4)}}}};
  SourceTree tree(GANGSIM_SOURCE_DIR);
  const auto results = to_sarif(result, tree);
  ASSERT_EQ(results.size(), 1U);
  std::vector<std::int64_t> lines;
  for (const SarifPlace& place : results[0].related) lines.push_back(place.line);
  EXPECT_THAT(lines, testing::ElementsAre(1, 2, 3, 4));
}

TEST(RunSarif, AWaitThatWouldTimeOutIsAWarningAtTheLateCall) {
  RunResult result;
  result.real_time.long_waits = {{.ranks = {1, 2},
                                  .call = "barrier",
                                  .location = {"a.py", 5},
                                  .late_rank = 0,
                                  .late_location = {"a.py", 6}}};
  SourceTree tree(GANGSIM_SOURCE_DIR);
  const auto results = to_sarif(result, tree);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].rule, "long_wait");
  EXPECT_EQ(results[0].level, SarifLevel::warning);
  EXPECT_EQ(results[0].message, to_string(result.real_time.long_waits.front()));
  EXPECT_THAT(results[0].identity, testing::EndsWith("|a.py|barrier"));
  EXPECT_EQ(results[0].place, (SarifPlace{.uri = "a.py", .line = 6}));
  EXPECT_THAT(results[0].related, testing::ElementsAre(SarifPlace{
                                      .uri = "a.py", .line = 5, .message = "ranks 1-2: barrier"}));
}

TEST(RunSarif, AnOutcomeWithoutAFindingIsAResult) {
  RunResult result;
  result.specification.program = "ring";
  result.report.outcome = sim::Outcome::step_limit;
  result.unexpected = "expected a deadlock";
  SourceTree tree(GANGSIM_SOURCE_DIR);
  const auto results = to_sarif(result, tree);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].rule, "step_limit");
  EXPECT_EQ(results[1].rule, "unexpected_outcome");
  EXPECT_EQ(results[1].message, "expected a deadlock");
  EXPECT_FALSE(results[1].place);
}

// Ranks 0 and 1 wait for each other; rank 2 waits behind them.
RunResult with_two_findings() {
  RunResult result;
  result.specification.program = "train";
  result.report.outcome = sim::Outcome::deadlock;
  const auto place = [](std::uint32_t line) { return SourceLocation{"sim/simulation.cc", line}; };
  for (const int rank : {0, 1, 2})
    result.report.blocked.push_back({.rank = rank,
                                     .gang = {"dp", "0-2"},
                                     .call = {.kind = rank == 0 ? "scan" : "barrier"},
                                     .location = place(static_cast<std::uint32_t>(10 + rank)),
                                     .is_core = rank < 2});
  result.report.findings = {
      {.id = "deadlock", .ranks = {0}, .gang = {"dp", "0-2"}, .message = "First."},
      {.id = "deadlock", .ranks = {1}, .gang = {"tp", "0-2"}, .message = "Second."}};
  return result;
}

TEST(RunSarif, BlockedCallsOfTheCoreAreBesideTheFirstFinding) {
  SourceTree tree(GANGSIM_SOURCE_DIR);
  const auto results = to_sarif(with_two_findings(), tree);
  ASSERT_EQ(results.size(), 2U);
  ASSERT_EQ(results[0].related.size(), 2U);
  EXPECT_EQ(results[0].related[0].line, 10);
  EXPECT_EQ(results[0].related[1].line, 11);
  ASSERT_TRUE(results[0].place) << "of the first of those";
  EXPECT_EQ(results[0].place->line, 10);
  EXPECT_TRUE(results[1].related.empty());
  EXPECT_NE(results[0].identity, results[1].identity);
}

TEST(RunSarif, ALineThatIsNotKnownIsNoPlace) {
  RunResult result = with_two_findings();
  result.report.blocked.clear();
  result.report.findings[0].location = {"sim/simulation.cc", 0};
  SourceTree tree(GANGSIM_SOURCE_DIR);
  EXPECT_FALSE(to_sarif(result, tree)[0].place);
}

RunResult with_findings(std::vector<sim::Finding> findings) {
  RunResult result;
  result.specification.program = "train";
  result.report.findings = std::move(findings);
  return result;
}

TEST(RunSarif, EverythingThatIsLeftBehindIsAWarning) {
  SourceTree tree(GANGSIM_SOURCE_DIR);
  for (const std::string_view id :
       {sim::finding_id::unwaited_work, sim::finding_id::unreceived_message,
        sim::finding_id::gang_not_closed})
    EXPECT_EQ(to_sarif(with_findings({{.id = std::string(id)}}), tree)[0].level,
              SarifLevel::warning)
        << id;
  EXPECT_EQ(to_sarif(with_findings({{.id = "use_after_close"}}), tree)[0].level, SarifLevel::error);
}

// Lines move and so do not count.
TEST(RunSarif, FindingsOfOneFileAreToldApartByGangAndCall) {
  const sim::Finding one{.id = "deadlock",
                         .gang = {"dp", "0,1"},
                         .call = {.kind = "barrier", .sequence = 3},
                         .location = {"sim/simulation.cc", 10}};
  sim::Finding moved = one;
  moved.location.line = 11;
  moved.call.sequence = 4;
  sim::Finding other_gang = one;
  other_gang.gang = {"tp", "0,1"};
  sim::Finding other_call = one;
  other_call.call.kind = "scan";
  SourceTree tree(GANGSIM_SOURCE_DIR);
  const auto results = to_sarif(with_findings({one, moved, other_gang, other_call}), tree);
  EXPECT_EQ(results[1].identity, results[0].identity);
  EXPECT_NE(results[2].identity, results[0].identity);
  EXPECT_NE(results[3].identity, results[0].identity);
}

TEST(RunSarif, OutcomesOfDifferentProgramsAreDifferentResults) {
  RunResult result;
  result.report.outcome = sim::Outcome::step_limit;
  SourceTree tree(GANGSIM_SOURCE_DIR);
  result.specification.program = "ring";
  const std::string identity = to_sarif(result, tree)[0].identity;
  result.specification.program = "train";
  EXPECT_NE(to_sarif(result, tree)[0].identity, identity);
}

TEST(RunSarif, BothCallsOfANearMissAreRelatedAndEachPlaceOnce) {
  const sim::CallSummary send{
      .ranks = {0}, .call = {.kind = "send"}, .location = {"sim/simulation.cc", 10}};
  const sim::CallSummary recv{
      .ranks = {1}, .call = {.kind = "recv"}, .location = {"sim/simulation.cc", 11}};
  SourceTree tree(GANGSIM_SOURCE_DIR);
  const auto results =
      to_sarif(with_findings({{.id = "deadlock",
                               .divergence = sim::Divergence{.next = {send}},
                               .near_misses = {{.first = send, .second = recv, .field = "tag"}}}}),
               tree);
  ASSERT_EQ(results[0].related.size(), 2U);
  EXPECT_EQ(results[0].related[0].message, "rank 0: send");
  EXPECT_EQ(results[0].related[1].message, "rank 1: recv");
}

TEST(RunSarif, AFileOfAnotherMachineIsTheOneOfItsName) {
  SourceTree tree(GANGSIM_SOURCE_DIR);
  const auto results = to_sarif(
      with_findings({{.id = "deadlock", .location = {"/elsewhere/source/simulation.cc", 10}}}),
      tree);
  ASSERT_TRUE(results[0].place);
  EXPECT_EQ(results[0].place->uri, "sim/simulation.cc");
}

TEST(RunSarif, OfSeveralFilesOfItsNameTheProgramIsTheOneThatRan) {
  const std::filesystem::path folder = test::temporary_directory() + "run_sarif";
  for (const char* name : {"a", "b", ".git"}) {
    std::filesystem::create_directories(folder / name);
    std::ofstream(folder / name / "train.toml").put('x');
  }
  RunResult result = with_findings({{.id = "deadlock", .location = {"train.toml", 3}}});
  result.specification.program = folder / "b/train.toml";
  SourceTree tree(folder);
  const auto results = to_sarif(result, tree);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(results[0].place);
  EXPECT_EQ(results[0].place->uri, "b/train.toml");
}

}  // namespace
}  // namespace gang::harness
