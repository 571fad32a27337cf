#include <map>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/explanation/html_page.h"
#include "sim/faults/fault_plan.h"

namespace gang::harness {
namespace {

using nlohmann::json;

RunResult run_recorded(int world_size, Program::Run body) {
  const Program program{.name = "test", .description = "", .run = std::move(body)};
  return run(program, {.program = "test", .world_size = world_size},
             {.timeline = sim::Recording::on});
}

json page_without(int world_size, int absent) {
  return make_page_data(run_recorded(world_size, [absent](Rank& rank) {
    std::int32_t value = 1;
    rank.root()->all_reduce(view_of(value), ReduceOperation::sum);
    if (rank.rank() != absent)
      rank.root()->all_reduce(view_of(value), ReduceOperation::max, {}, CallSite::at("t.cc", 9));
  }));
}

TEST(PageData, DescribesABlockedCallInFull) {
  const json page = page_without(4, 1);
  EXPECT_EQ(page["outcome"], "deadlock");
  EXPECT_EQ(page["id"], "participant_missing");
  EXPECT_EQ(page["holds"], false);
  ASSERT_EQ(page["nodes"].size(), 2U);
  const json& node = page["nodes"][0];
  EXPECT_EQ(node["ranks"], "0,2-3");
  EXPECT_EQ(node["gang"], "root[0-3]");
  EXPECT_EQ(node["operation"], "all_reduce #1 max i32[]");
  EXPECT_EQ(node["sequence"], "1");
  EXPECT_EQ(node["arguments"], "max i32[]");
  EXPECT_EQ(node["location"], "t.cc:9");
  EXPECT_EQ(node["waits_for"], "1");
  EXPECT_EQ(node["timeout"], "15 min");
  EXPECT_EQ(page["edges"], json::parse("[[0,1]]"));
  EXPECT_EQ(page["nodes"][1]["is_blocked"], false);
}

TEST(PageData, TheTimelineMarksTheBlockedTailAndTheOddRank) {
  const json timeline = page_without(4, 1)["timeline"];
  ASSERT_EQ(timeline["lanes"].size(), 4U);
  const json& blocked = timeline["lanes"][0];
  EXPECT_EQ(blocked["node"], 0);
  EXPECT_EQ(blocked["is_odd"], false);
  EXPECT_EQ(blocked["slices"][0]["is_blocked"], false);
  EXPECT_EQ(blocked["slices"][1]["is_blocked"], true);
  const json& odd = timeline["lanes"][1];
  EXPECT_EQ(odd["is_odd"], true);
  EXPECT_EQ(odd["node"], nullptr);
  EXPECT_EQ(odd["end"], "returned");
}

TEST(PageData, ShowsEachFaultWhereItHappened) {
  const auto three_barriers = [](Rank& rank) {
    for (int i = 0; i < 3; ++i) rank.root()->barrier();
  };
  RunSpecification specification{.program = "test", .world_size = 2};
  set_option(specification, "faults",
             "fault = [{kind = \"crash\", ranks = [1], operation = 2, notice = \"2s\"}, "
             "{kind = \"slow\", ranks = [0], delay = \"1s\"}]");
  const Program program{.name = "test", .description = "", .run = three_barriers};
  const json page = make_page_data(run(program, specification, {.timeline = sim::Recording::on}));
  ASSERT_EQ(page["faults"].size(), 2U);
  EXPECT_EQ(page["faults"][0]["description"], "rank 0 was slow from barrier #0 on root[0,1]");
  EXPECT_EQ(page["faults"][0]["count"], 3);
  EXPECT_EQ(page["faults"][0]["step"], 0);
  const json& crash = page["faults"][1];
  EXPECT_EQ(crash["kind"], "crash");
  EXPECT_EQ(crash["rank"], 1);
  EXPECT_EQ(crash["step"], 2);
  EXPECT_EQ(crash["time"], "2 s");
  EXPECT_EQ(crash["planned"], "crash of rank 1 before operation 2, noticed after 2 s");
  EXPECT_EQ(page["faults_left_out"], 0);
  EXPECT_NE(page["advice"].dump().find(R"(["Faults","rank 0 was slow)"), std::string::npos);
  EXPECT_EQ(make_page_data(run_recorded(2, three_barriers))["faults"].size(), 0U);
}

TEST(PageData, DoesNotGrowWithTheNumberOfEqualRanks) {
  const json page = page_without(1'000, 516);
  EXPECT_EQ(page["nodes"].size(), 2U);
  EXPECT_EQ(page["nodes"][0]["ranks"], "0-515,517-999");
  EXPECT_EQ(page["nodes"][0]["count"], 999);
  EXPECT_EQ(page["nodes"][0]["ranges"], json::parse("[[0,515,1],[517,999,1]]"));
  ASSERT_EQ(page["timeline"]["lanes"].size(), 2U);
  EXPECT_EQ(page["timeline"]["lanes"][0]["ranks"], "516") << "the odd one comes first";
}

TEST(PageData, ARunWithoutFindingExplainsItself) {
  const json page = make_page_data(run_recorded(2, [](Rank& rank) { rank.root()->barrier(); }));
  EXPECT_EQ(page["holds"], true);
  EXPECT_EQ(page["id"], "");
  EXPECT_THAT(page["verdict"].get<std::string>(), testing::HasSubstr("nothing is blocked"));
  EXPECT_TRUE(page["nodes"].empty());
}

TEST(PageData, ARunWithoutTimelineHasNone) {
  EXPECT_EQ(make_page_data(RunResult{})["timeline"], nullptr);
}

TEST(PageData, ErrorsThatTheProgramHandledAreThereAndNoFindings) {
  const json page = make_page_data(run_recorded(2, [](Rank& rank) {
    if (rank.rank() == 1) rank.runtime().sleep_for(std::chrono::seconds(2));
    CallOptions options;
    options.timeout = std::chrono::seconds(1);
    try {
      rank.root()->barrier(options, CallSite::at("t.cc", 9));
    } catch (const GangError&) {
    }
  }));
  EXPECT_EQ(page["holds"], true);
  ASSERT_EQ(page["handled"].size(), 1U);
  EXPECT_EQ(page["handled"][0]["id"], "timed_out");
  EXPECT_EQ(page["handled"][0]["location"], "t.cc:9");
  EXPECT_EQ(page["handled_left_out"], 0);
}

TEST(PageData, OfManyHandledErrorsTheFirstAreThere) {
  RunResult result;
  result.report.handled.assign(130, {.id = "timed_out"});
  const json page = make_page_data(result);
  EXPECT_EQ(page["handled"].size(), 100U);
  EXPECT_EQ(page["handled_left_out"], 30);
}

TEST(PageData, DivergenceAndNearMissesAreThere) {
  RunResult result;
  const sim::CallSummary send{.ranks = {0}, .call = {.kind = "send", .qualifiers = "tag 3"}};
  const sim::CallSummary recv{.ranks = {1, 2}, .call = {.kind = "recv", .qualifiers = "tag 4"}};
  result.report.findings.push_back(
      {.id = "deadlock",
       .divergence = sim::Divergence{.last_common = send, .next = {recv, send}},
       .near_misses = {{.first = send, .second = recv, .field = "tag"}}});
  const json finding = make_page_data(result)["findings"][0];
  EXPECT_EQ(finding["divergence"]["has_majority"], true);
  EXPECT_EQ(finding["divergence"]["next"][0]["short_ranks"], "1-2");
  EXPECT_EQ(finding["near_misses"][0]["field"], "tag");
  EXPECT_EQ(finding["near_misses"][0]["first"]["operation"], "send tag 3");
  EXPECT_EQ(finding["near_misses"][0]["second"]["operation"], "recv tag 4");
}

TEST(PageData, TheVerdictIsTheFirstSentenceOfTheFinding) {
  const json page = page_without(4, 1);
  EXPECT_THAT(page["verdict"].get<std::string>(), testing::StartsWith("Rank 1 never called"));
  EXPECT_EQ(page["more"], "Ranks 0,2-3 wait for it.");
}

TEST(PageData, HalfIsNoMajority) {
  RunResult result;
  const sim::CallSummary one{.ranks = {0}, .call = {.kind = "barrier"}};
  const sim::CallSummary other{.ranks = {1}, .call = {.kind = "scan"}};
  result.report.findings.push_back(
      {.id = "deadlock", .divergence = sim::Divergence{.last_common = one, .next = {one, other}}});
  EXPECT_EQ(make_page_data(result)["findings"][0]["divergence"]["has_majority"], false);
}

TEST(PageData, ACallWithoutATimeoutDoesNotFail) {
  RunResult result;
  result.report.blocked = {{.rank = 0, .call = {.kind = "recv"}, .waits_for_any = true}};
  const json page = make_page_data(result);
  EXPECT_EQ(page["nodes"][0]["timeout"], "");
  EXPECT_EQ(page["nodes"][0]["waits_for_any"], true);
  EXPECT_EQ(page["advice"].dump().find("Timeout"), std::string::npos);
}

TEST(PageData, OfManyFaultsTheFirstAreNamed) {
  RunResult result;
  result.report.fault_plan = std::make_shared<const sim::FaultPlan>(
      sim::FaultPlan{.faults = {{.kind = sim::FaultKind::slow}}});
  result.report.faults.assign(4, {.description = "it was slow"});
  EXPECT_THAT(make_page_data(result)["advice"].dump(), testing::HasSubstr("and 1 more"));
  result.report.faults.resize(3);
  EXPECT_EQ(make_page_data(result)["advice"].dump().find("more"), std::string::npos);
  result.report.faults.assign(130, {.description = "it was slow"});
  const json page = make_page_data(result);
  EXPECT_EQ(page["faults"].size(), 100U);
  EXPECT_EQ(page["faults_left_out"], 30);
}

TEST(PageData, WhatIsNotKnownIsNoFact) {
  RunResult result;
  result.world_size = 0;
  EXPECT_EQ(make_page_data(result)["facts"].dump().find("Ranks"), std::string::npos);
}

TEST(PageData, ADivergenceOfAReplayIsTheVerdict) {
  RunResult result;
  result.report.outcome = sim::Outcome::diverged;
  result.report.divergence = "Rank 1 could not run at step 3.";
  EXPECT_EQ(make_page_data(result)["verdict"], "Rank 1 could not run at step 3.");
}

TEST(PageData, GangsOfOneNameShareIt) {
  const json timeline = make_page_data(run_recorded(4, [](Rank& rank) {
    rank.root()->split({.color = rank.rank() / 2}, {.name = "pair"})->barrier();
  }))["timeline"];
  EXPECT_EQ(timeline["gangs"].size(), 3U);
  EXPECT_EQ(timeline["names"], json::array({"root", "pair"}));
}

// The main thread of rank 0 is in its second barrier, its other one in the first of another gang.
TEST(PageData, ABlockedCallIsMarkedInTheLaneOfItsContextOnly) {
  const json page = make_page_data(run_recorded(2, [](Rank& rank) {
    const auto own = rank.root()->split({.color = 0}, {.name = "own"});
    auto thread = rank.runtime().start_thread("saver", [&] {
      if (rank.rank() == 0) own->barrier();
    });
    rank.root()->barrier();
    if (rank.rank() == 0) rank.root()->barrier();
    thread->join();
  }));
  std::map<std::string, std::vector<bool>> marked;
  for (const json& lane : page["timeline"]["lanes"])
    if (lane["ranks"] == "0")
      for (const json& slice : lane["slices"])
        marked[lane["context"].get<std::string>()].push_back(slice["is_blocked"].get<bool>());
  EXPECT_THAT(marked[""], testing::ElementsAre(false, false, true));
  EXPECT_THAT(marked["saver"], testing::ElementsAre(true));
}

TEST(PageData, EachFactIsThatOfTheRun) {
  RunResult result;
  result.world_size = 6;
  result.specification.program = "some/where/train.toml";
  result.specification.schedule = ScheduleChoice::random;
  result.specification.options.seed = 9;
  result.specification.options.context = sim::ContextKind::parallel;
  result.specification.options.execution = sim::ExecutionModel::stream_ordered;
  result.report.counts.gangs = 3;
  result.report.counts.rank_operations = 40;
  result.report.virtual_time = std::chrono::seconds(2);
  result.report.trace.digest = 0xab;
  result.outputs.digest = 0xcd;
  const json page = make_page_data(result);
  EXPECT_EQ(page["program"], "train.toml");
  EXPECT_EQ(page["world"], 6);
  EXPECT_EQ(page["seed"], 9);
  std::map<std::string, std::string> facts;
  for (const json& fact : page["facts"]) facts[fact[0]] = fact[1];
  EXPECT_EQ(facts["Program"], "some/where/train.toml");
  EXPECT_EQ(facts["Ranks"], "6");
  EXPECT_EQ(facts["Gangs"], "3");
  EXPECT_EQ(facts["Operations"], "40");
  EXPECT_EQ(facts["Backend"], "sim");
  EXPECT_EQ(facts["Contexts"], "parallel");
  EXPECT_EQ(facts["Schedule"], "random");
  EXPECT_EQ(facts["Execution"], "stream_ordered");
  EXPECT_EQ(facts["Sends"], "rendezvous");
  EXPECT_EQ(facts["Seed"], "9");
  EXPECT_EQ(facts["Virtual time"], "2 s");
  EXPECT_EQ(facts["Trace digest"], "00000000000000ab");
  EXPECT_EQ(facts["Result digest"], "00000000000000cd");
}

TEST(PageData, WhatACallIsQueuedBehindIsThere) {
  RunResult result;
  result.report.blocked = {{.rank = 0, .gang = {"dp", "0,1"}, .call = {.kind = "barrier"}}};
  result.report.blocked[0].behind.emplace();
  result.report.blocked[0].behind->gang = {"tp", "0,2"};
  result.report.blocked[0].behind->call = {.kind = "scan", .sequence = 2};
  result.report.blocked[0].behind->location = {"t.cc", 9};
  const json node = make_page_data(result)["nodes"][0];
  EXPECT_EQ(node["behind"], "tp[0,2]  scan #2");
  EXPECT_EQ(node["behind_location"], "t.cc:9");
}

TEST(PageData, TheVerdictOfARunThatHoldsSaysWhatTheFaultsLeft) {
  RunResult result;
  EXPECT_EQ(make_page_data(result)["verdict"],
            "Completed: every rank returned; nothing is blocked, nothing was left behind.");
  result.report.fault_plan = std::make_shared<const sim::FaultPlan>(
      sim::FaultPlan{.faults = {{.kind = sim::FaultKind::slow}}});
  result.report.faults = {{.description = "it was slow"}};
  EXPECT_EQ(make_page_data(result)["verdict"],
            "Completed: every rank that the faults left returned; nothing is blocked, nothing was "
            "left behind.");
}

// Some of 81 ranks wait in a barrier.
RunResult with_scattered_ranks() {
  RunResult result;
  for (const int rank : {0, 2, 4, 6, 17, 20, 31, 44, 45, 60, 73})
    result.report.blocked.push_back(
        {.rank = rank, .gang = {"dp", "0-80"}, .call = {.kind = "barrier", .sequence = 0}});
  return result;
}

TEST(PageData, RanksAreThereInShortAndInFull) {
  const json node = make_page_data(with_scattered_ranks())["nodes"][0];
  EXPECT_EQ(node["ranks"], "0-6:2,17,20,31,44-45,60,73");
  EXPECT_EQ(node["short_ranks"], "0-6:2,17,20,31,44-45,...");
  EXPECT_EQ(node["ranges"][0], json::parse("[0,6,2]"));
  EXPECT_EQ(node["sequence"], "0");
}

TEST(PageData, CallsThatWaitForDifferentRanksAreAlikeInTheirKindOnly) {
  RunResult result;
  for (int rank = 0; rank < 200; ++rank) {
    const std::string members = std::to_string(rank) + "," + std::to_string(rank ^ 1);
    result.report.blocked.push_back({.rank = rank,
                                     .gang = {"tp", members},
                                     .call = {.kind = "barrier", .sequence = 0},
                                     .waits_for = {rank ^ 1},
                                     .waits_for_count = 1});
  }
  const json node = make_page_data(result)["nodes"][0];
  EXPECT_EQ(node["is_alike"], false);
  EXPECT_EQ(node["waits_for"], "others of the same kind");
  EXPECT_EQ(make_page_data(with_scattered_ranks())["nodes"][0]["is_alike"], true);
}

// Rank 0 is blocked in its barrier #5. Other operations of it ended, are of another kind, or are
// another barrier.
TEST(PageData, OfSeveralOperationsTheOneThatItsRankIsBlockedInIsMarked) {
  using sim::SliceStatus;
  RunResult result;
  result.report.blocked = {{.rank = 0, .call = {.kind = "barrier", .sequence = 5}}};
  sim::Timeline& timeline = result.report.timeline;
  timeline.gangs = {{"root", "0,1"}};
  timeline.calls = {{.call = {.kind = "barrier"}}, {.call = {.kind = "scan"}}};
  timeline.lanes = {
      {.ranks = {0},
       .slices = {{.call = 0, .sequence_number = 5, .status = SliceStatus::complete},
                  {.call = 1, .sequence_number = 5, .status = SliceStatus::pending},
                  {.call = 0, .sequence_number = 4, .status = SliceStatus::pending},
                  {.call = 0, .sequence_number = 5, .status = SliceStatus::pending}}}};
  std::vector<bool> marked;
  const json page = make_page_data(result)["timeline"];
  for (const json& slice : page["lanes"][0]["slices"])
    marked.push_back(slice["is_blocked"].get<bool>());
  EXPECT_THAT(marked, testing::ElementsAre(false, false, false, true));
  EXPECT_EQ(page["has_time"], false);
}

TEST(PageData, ALaneIsOddIfAFindingNamesAllOfItsRanksButNotAllOfTheRun) {
  RunResult result;
  result.world_size = 3;
  result.report.timeline.lanes = {{.ranks = {0, 1}}, {.ranks = {2}}};
  const auto odd = [&result](std::vector<int> ranks) {
    result.report.findings = {{.id = "deadlock", .ranks = std::move(ranks)}};
    std::map<std::string, bool> lanes;
    const json page = make_page_data(result);
    for (const json& lane : page["timeline"]["lanes"]) lanes[lane["ranks"]] = lane["is_odd"];
    return lanes;
  };
  using Lanes = std::map<std::string, bool>;
  EXPECT_EQ(odd({0}), (Lanes{{"0-1", false}, {"2", false}}));
  EXPECT_EQ(odd({0, 1}), (Lanes{{"0-1", true}, {"2", false}}));
  EXPECT_EQ(odd({0, 1, 2}), (Lanes{{"0-1", false}, {"2", false}}));
}

TEST(PageData, AdviceNamesEachThingOnce) {
  RunResult result;
  result.report.outcome = sim::Outcome::deadlock;
  result.unexpected = "expected it to complete";
  result.report.blocked = {
      {.rank = 0, .call = {.kind = "recv"}},
      {.rank = 1, .call = {.kind = "barrier"}, .would_time_out_after_ns = 2'000'000'000},
      {.rank = 2, .call = {.kind = "scan"}, .would_time_out_after_ns = 3'000'000'000}};
  result.report.fault_plan = std::make_shared<const sim::FaultPlan>(
      sim::FaultPlan{.faults = {{.kind = sim::FaultKind::slow}}});
  result.report.faults = {{.description = "rank 0 was slow"}, {.description = "rank 1 was slow"}};
  const json page = make_page_data(result);
  EXPECT_EQ(page["holds"], false);
  std::map<std::string, std::vector<std::string>> advice;
  for (const json& line : page["advice"]) advice[line[0]].push_back(line[1]);
  EXPECT_THAT(advice["Faults"], testing::ElementsAre("rank 0 was slow"));
  EXPECT_THAT(advice[""], testing::ElementsAre("rank 1 was slow"));
  EXPECT_THAT(advice["Timeout"], testing::ElementsAre("would fail after 2 s"));
  EXPECT_THAT(advice["Unexpected"], testing::ElementsAre("expected it to complete"));
}

}  // namespace
}  // namespace gang::harness
