#include "tools/commands/check_report.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gang::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

CheckedProperty held() {
  properties::CheckResult result;
  result.cases = result.planned_cases = 1000;
  result.time = std::chrono::milliseconds(120);
  return {{"suite", "holds", "It holds.", nullptr}, result};
}

CheckedProperty falsified() {
  properties::CheckResult result;
  result.cases = 37;
  result.planned_cases = 1000;
  result.counterexample =
      properties::Counterexample{.text = "world 6, pp 1, dp 3, tp 2\nsecond line",
                                 .message = "gang dp[1] holds rank 6 & <more>",
                                 .found_in = "world 60, pp 2, dp 5, tp 6",
                                 .case_number = 37,
                                 .shrink_steps = 11,
                                 .reproduce = "1-37-36-16-0x11"};
  return {{"meshes", "fails", "It fails.", nullptr}, result};
}

CheckedProperty gave_up() {
  properties::CheckResult result;
  result.cases = 3;
  result.gave_up = "no case to check";
  return {{"meshes", "gives_up", "It gives up.", nullptr}, result};
}

CheckReport report_of(std::vector<CheckedProperty> checked) {
  CheckReport report;
  report.properties = std::move(checked);
  report.time = std::chrono::milliseconds(1500);
  return report;
}

TEST(LineOf, APropertyThatHoldsIsOneLine) {
  const std::string line = line_of(held(), "gangsim");
  EXPECT_THAT(line, HasSubstr("✓ suite.holds"));
  EXPECT_THAT(line, HasSubstr("1000 cases     0.12 s\n"));
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
}

TEST(LineOf, ASearchThatRanOutOfTimeSaysHowFarItCame) {
  CheckedProperty checked = held();
  checked.result.cases = 12;
  EXPECT_THAT(line_of(checked, "gangsim"), HasSubstr("12 of 1000 cases"));
}

TEST(LineOf, AFailureShowsTheShrunkCaseAndHowToReproduceIt) {
  EXPECT_EQ(line_of(falsified(), "gangsim"),
            "✗ meshes.fails                                                   case 37 of 1000\n"
            "\n"
            "  world 6, pp 1, dp 3, tp 2\n"
            "  second line\n"
            "\n"
            "  gang dp[1] holds rank 6 & <more>\n"
            "\n"
            "  Shrunk from world 60, pp 2, dp 5, tp 6 in 11 steps.\n"
            "  Reproduce  gangsim check --filter meshes.fails --reproduce 1-37-36-16-0x11\n"
            "\n");
}

TEST(LineOf, APropertyWithoutVerdictSaysWhy) {
  EXPECT_THAT(line_of(gave_up(), "gangsim"), HasSubstr("gave up after 3 cases\n\n  no case"));
}

TEST(LineOf, APropertyWithoutVerdictSaysAfterHowManyCases) {
  CheckedProperty checked = gave_up();
  checked.result.planned_cases = 1000;
  EXPECT_THAT(line_of(checked, "gangsim"), HasSubstr("gave up after 3 cases\n"));
}

TEST(LineOf, ACaseThatWasNotShrunkDoesNotSayFromWhat) {
  CheckedProperty checked = falsified();
  checked.result.counterexample->shrink_steps = 0;
  EXPECT_THAT(line_of(checked, "gangsim"), Not(HasSubstr("Shrunk")));
}

TEST(LineOf, ACaseThatStandsForItselfDoesNotSayFromWhat) {
  CheckedProperty checked = falsified();
  checked.result.counterexample->found_in.clear();
  EXPECT_THAT(line_of(checked, "gangsim"), Not(HasSubstr("Shrunk")));
}

TEST(LineOf, WhatAPropertyCountedIsOnLinesOfItsOwn) {
  CheckedProperty checked = held();
  checked.result.figures = "12 of 13\n4 twice";
  EXPECT_THAT(line_of(checked, "gangsim"), HasSubstr(" s\n  12 of 13\n  4 twice\n"));
}

TEST(LineOf, TheCommandNamesABackendOtherThanSim) {
  CheckedProperty checked = falsified();
  checked.property.backend = harness::BackendKind::sim_gloo;
  EXPECT_THAT(line_of(checked, "gangsim"),
              HasSubstr("gangsim check --backend sim-gloo --filter meshes.fails --reproduce 1-37"));
}

TEST(SummaryOf, CountsPropertiesCasesAndFailures) {
  EXPECT_EQ(summary_of(report_of({})), "0 properties hold: 0 cases in 1.5 s, seed 1\n");
  EXPECT_EQ(summary_of(report_of({held()})), "1 property holds: 1000 cases in 1.5 s, seed 1\n");
  EXPECT_EQ(summary_of(report_of({held(), falsified(), gave_up()})),
            "3 properties checked, 2 failed: 1040 cases in 1.5 s, seed 1\n");
}

TEST(JsonText, HoldsEveryVerdict) {
  const auto json =
      nlohmann::json::parse(to_json_text(report_of({held(), falsified(), gave_up()}), "gangsim"));
  EXPECT_EQ(json.at("format"), "gangsim check");
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("outcome"), "falsified");
  EXPECT_EQ(json.at("seed"), 1);
  const auto& properties = json.at("properties");
  EXPECT_EQ(properties.at(0).at("outcome"), "held");
  EXPECT_EQ(properties.at(0).at("time_ns"), 120'000'000);
  EXPECT_EQ(properties.at(1).at("counterexample").at("case"),
            "world 6, pp 1, dp 3, tp 2\nsecond line");
  EXPECT_EQ(properties.at(1).at("counterexample").at("reproduce"),
            "gangsim check --filter meshes.fails --reproduce 1-37-36-16-0x11");
  EXPECT_EQ(properties.at(2).at("outcome"), "gave_up");
  EXPECT_EQ(nlohmann::json::parse(to_json_text(report_of({held()}), "gangsim")).at("outcome"),
            "held");
}

TEST(JsonText, HasWhatEachSearchDid) {
  CheckedProperty checked = falsified();
  checked.index = 5;
  checked.result.discards = 4;
  const auto json = nlohmann::json::parse(to_json_text(report_of({checked}), "gangsim"));
  const auto& property = json.at("properties").at(0);
  EXPECT_EQ(property.at("index"), 5);
  EXPECT_EQ(property.at("law"), "fails");
  EXPECT_EQ(property.at("cases"), 37);
  EXPECT_EQ(property.at("planned_cases"), 1000);
  EXPECT_EQ(property.at("discards"), 4);
  const auto& found = property.at("counterexample");
  EXPECT_EQ(found.at("found_in"), "world 60, pp 2, dp 5, tp 6");
  EXPECT_EQ(found.at("case_number"), 37);
  EXPECT_EQ(found.at("shrink_steps"), 11);
  EXPECT_EQ(found.at("token"), "1-37-36-16-0x11");
}

TEST(Junit, HasTimesAndReasons) {
  const auto suites = to_junit(report_of({held(), gave_up()}), "gangsim");
  ASSERT_EQ(suites.size(), 2U);
  EXPECT_EQ(suites[0].cases.at(0).time, std::chrono::milliseconds(120));
  ASSERT_TRUE(suites[1].cases.at(0).failure);
  EXPECT_EQ(suites[1].cases[0].failure->message, "no case to check");
}

TEST(Junit, GroupsSuites) {
  const auto suites = to_junit(report_of({held(), falsified(), gave_up()}), "gangsim");
  ASSERT_EQ(suites.size(), 2U);
  EXPECT_EQ(suites[0].name, "suite");
  ASSERT_EQ(suites[0].cases.size(), 1U);
  EXPECT_EQ(suites[0].cases[0].name, "holds");
  EXPECT_FALSE(suites[0].cases[0].failure);
  EXPECT_EQ(suites[1].name, "meshes");
  ASSERT_EQ(suites[1].cases.size(), 2U);
  ASSERT_TRUE(suites[1].cases[0].failure);
  EXPECT_EQ(suites[1].cases[0].failure->message, "gang dp[1] holds rank 6 & <more>");
  EXPECT_TRUE(suites[1].cases[1].failure);
}

// The same, shown by a run in which rank 2 is missing.
CheckedProperty falsified_by_a_run() {
  CheckedProperty checked = falsified();
  sim::Report run{.outcome = sim::Outcome::deadlock};
  run.findings.push_back({.id = "participant_missing", .message = "Rank 2 never came."});
  run.blocked.push_back({.rank = 0,
                         .gang = {"root", "0-2"},
                         .call = {.kind = "barrier", .sequence = 0},
                         .waits_for = {2}});
  checked.result.counterexample->run = std::make_shared<const sim::Report>(std::move(run));
  return checked;
}

TEST(LineOf, AFailureThatARunShowsHasItsReport) {
  EXPECT_THAT(line_of(falsified(), "gangsim"), Not(HasSubstr("DEADLOCK")));
  const std::string line = line_of(falsified_by_a_run(), "gangsim");
  EXPECT_THAT(line, HasSubstr("\n  DEADLOCK  participant_missing\n"));
  EXPECT_THAT(line, HasSubstr("root[0-2]  barrier #0"));
}

TEST(LineOf, OneEmptyLineFollowsTheReport) {
  EXPECT_THAT(line_of(falsified_by_a_run(), "gangsim"), Not(HasSubstr("\n  \n\n")));
}

TEST(LineOf, ARunThatHoldsIsNotShown) {
  CheckedProperty checked = falsified();
  checked.result.counterexample->run = std::make_shared<const sim::Report>();
  EXPECT_EQ(line_of(checked, "gangsim"), line_of(falsified(), "gangsim"));
}

TEST(JsonText, IsReadBack) {
  CheckedProperty counted = held();
  counted.result.figures = "12 of 13";
  const CheckReport report = report_of({counted, gave_up()});
  const CheckReport again =
      check_report_from_json(nlohmann::json::parse(to_json_text(report, "gangsim")));
  ASSERT_EQ(again.properties.size(), 2U);
  EXPECT_EQ(again.properties[0].result.figures, "12 of 13");
  EXPECT_EQ(again.properties[1].result.gave_up, "no case to check");
  EXPECT_EQ(again.time, report.time);
}

TEST(JsonText, IsReadBackWhole) {
  CheckedProperty searched = falsified_by_a_run();
  searched.result.discards = 4;
  searched.index = 1;
  CheckReport report = report_of({held(), searched, gave_up()});
  report.settings.seed = 8;
  const std::string text = to_json_text(report, "gangsim");
  EXPECT_EQ(to_json_text(check_report_from_json(nlohmann::json::parse(text)), "gangsim"), text);
}

TEST(ExplainedFailure, SaysFromWhatItWasShrunkAndWithWhichSeed) {
  CheckReport report = report_of({falsified()});
  report.settings.seed = 8;
  const auto failure = explained_failure(report, "gangsim");
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->specification.options.seed, 8U);
  EXPECT_THAT(failure->report.findings.at(0).message,
              testing::EndsWith("second line\nshrunk from world 60, pp 2, dp 5, tp 6"));
}

TEST(ExplainedFailure, ASentenceEndsWithOneFullStop) {
  CheckedProperty checked = falsified();
  checked.result.counterexample->message = "Rank 6 is in two gangs.";
  const auto failure = explained_failure(report_of({checked}), "gangsim");
  ASSERT_TRUE(failure);
  EXPECT_THAT(failure->report.findings.at(0).message,
              testing::StartsWith("Rank 6 is in two gangs. The shrunk case is\n"));
}

TEST(ExplainedFailure, IsTheFirstFailureWithItsRun) {
  const auto failure =
      explained_failure(report_of({held(), falsified_by_a_run(), falsified()}), "gangsim");
  ASSERT_TRUE(failure);
  ASSERT_EQ(failure->report.findings.size(), 2U);
  EXPECT_EQ(failure->report.findings[0].id, "meshes.fails");
  EXPECT_THAT(failure->report.findings[0].message,
              HasSubstr("holds rank 6 & <more>. The shrunk case is\nworld 6, pp 1"));
  EXPECT_EQ(failure->report.findings[1].id, "participant_missing");
  EXPECT_EQ(failure->report.blocked.size(), 1U);
  EXPECT_THAT(failure->reproduce, HasSubstr("check --filter meshes.fails --reproduce 1-37-36"));
}

TEST(Sarif, HasAResultForEachFailure) {
  const auto results = to_sarif(report_of({held(), falsified_by_a_run(), gave_up()}), "gangsim");
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].rule, "meshes.fails");
  EXPECT_THAT(results[0].message, HasSubstr("holds rank 6 & <more>"));
  EXPECT_THAT(results[0].message, HasSubstr("Reproduce: gangsim check --filter meshes.fails"));
  EXPECT_EQ(results[1].rule, "meshes.gives_up");
  EXPECT_EQ(results[1].message, "no case to check");
  EXPECT_EQ(results[1].identity, "meshes.gives_up");
}

TEST(ExplainedFailure, IsNothingWhereAllHeld) {
  EXPECT_FALSE(explained_failure(report_of({held(), gave_up()}), "gangsim"));
}

}  // namespace
}  // namespace gang::tools
