// What a page advises beside its findings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/explanation/html_page.h"

namespace gang::harness {
namespace {

using nlohmann::json;

TEST(PageAdvice, ContextsThatLeakAreThere) {
  RunResult result;
  EXPECT_EQ(make_page_data(result)["advice"].dump().find("Leaks"), std::string::npos);
  result.report.left_behind = {{.rank = 3, .by = sim::LeftBehindBy::ending}};
  const json page = make_page_data(result);
  EXPECT_THAT(page["advice"].dump(), testing::HasSubstr(R"(["Leaks","1 context could not)"));
  EXPECT_THAT(page["verdict"].get<std::string>(), testing::Not(testing::HasSubstr("left behind")));
}

TEST(PageAdvice, CallsInSwappedPlacesAreThere) {
  RunResult result;
  result.report.crossed_calls = {
      {.most = {.ranks = {0, 1}}, .others = {.ranks = {2}}, .second = 4}};
  EXPECT_THAT(make_page_data(result)["advice"].dump(), testing::HasSubstr(R"(["Suspect","Rank 2)"));
}

TEST(PageAdvice, WhatDecidedAFailureIsThere) {
  DecisiveChoice decisive{.text = "rank 1 came first", .holds_otherwise = true};
  EXPECT_TRUE(make_page_data({})["decisive"].is_null());
  json page = make_page_data({}, decisive)["decisive"];
  EXPECT_EQ(page["text"], "rank 1 came first");
  EXPECT_EQ(page["consequence"], "Decided the other way, the run holds.");
  EXPECT_TRUE(page["found"].is_null());
  decisive.continuations = {{.deeds = {{"1", "sends"}}, .further = 2, .end = "deadlock"},
                            {.end = "completed"}};
  page = make_page_data({}, decisive)["decisive"];
  EXPECT_EQ(page["found"]["deeds"], json::parse(R"([{"context": "1", "did": "sends"}])"));
  EXPECT_EQ(page["found"]["end"], "deadlock");
  EXPECT_EQ(page["otherwise"]["end"], "completed");
}

TEST(PageAdvice, RealTimeIsThere) {
  RunResult result;
  result.real_time = {.irreproducible = "rank 1 waited", .long_waits = {{.ranks = {2, 3}}}};
  const std::string advice = make_page_data(result)["advice"].dump();
  EXPECT_THAT(advice, testing::HasSubstr(R"(["Note","not reproducible: rank 1 waited"])"));
  EXPECT_THAT(advice, testing::HasSubstr(R"(["Suspect","Ranks 2-3 )"));
}

TEST(PageAdvice, WhereMembersPartedIsThere) {
  RunResult result;
  const sim::CallSummary call{.ranks = {0, 1}, .call = {.kind = "barrier"}};
  result.report.findings.push_back(
      {.id = "deadlock",
       .divergence = sim::Divergence{.parted = {call, {.ranks = {2}}}, .next = {call, call}}});
  const json parted = make_page_data(result)["findings"][0]["divergence"]["parted"];
  ASSERT_EQ(parted.size(), 2U);
  EXPECT_EQ(parted[0]["operation"], "barrier");
  EXPECT_EQ(parted[1]["short_ranks"], "2");
}

}  // namespace
}  // namespace gang::harness
