#include "sim/report/report_json.h"

#include <nlohmann/json.hpp>

#include "sim/report/call_json.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

CallSummary some_call(std::vector<int> ranks) {
  return {.ranks = std::move(ranks),
          .gang = {"dp", "0,2"},
          .call = {.kind = "all_reduce", .sequence = 2, .payload = "sum f32[1024]"},
          .location = {"train.cc", 41},
          .note = ""};
}

Finding full_finding() {
  return {.id = "mismatch_count",
          .ranks = {1, 5},
          .gang = {"dp", "0,2"},
          .call = {.kind = "all_reduce", .sequence = 3, .payload = "sum f32[1024]"},
          .message = "Ranks 1,5 called something else.",
          .detail = "They differ in the operation.",
          .location = {"train.cc", 41},
          .consequences = {"rank 3: failed"},
          .divergence = Divergence{.parted = {some_call({0, 1}), some_call({5})},
                                   .last_common = some_call({0, 1, 5}),
                                   .next = {some_call({0}), {.ranks = {1, 5}, .note = "returned"}}},
          .near_misses = {{.first = some_call({0}), .second = some_call({1}), .field = "tag"}},
          .certainty = Certainty{.schedules = Schedules::every, .sends = Dependence::open}};
}

bool is_optional(std::string_view name) {
  return name == "divergence" || name == "near_misses" || name == "certainty" ||
         name == "call_site";
}

TEST(ReportJson, FindingsRoundTripThroughJson) {
  EXPECT_EQ(finding_from_json(to_json(full_finding())), full_finding());
  EXPECT_EQ(finding_from_json(to_json(Finding{})), Finding{});
}

TEST(ReportJson, OptionalFieldsOfAFindingAreAbsentWhereEmpty) {
  const nlohmann::json json = to_json(Finding{.id = "deadlock"});
  for (const char* name : {"divergence", "near_misses", "certainty"})
    EXPECT_FALSE(json.contains(name)) << name;
}

TEST(ReportJson, BlockedCallsRoundTripThroughJson) {
  const BlockedCall call{
      .rank = 3,
      .context = "loader",
      .gang = {"dp", "0,2"},
      .call = {.kind = "barrier", .sequence = 0},
      .location = {"/home/me/src/train.cc", 41, "void step(gang::Gang&)"},
      .waits_for = {0, 2},
      .waits_for_count = 20,
      .would_time_out_after_ns = 900'000'000'000,
      .behind = QueuedBehind{{"pp", "0,1"},
                             {.kind = "send", .direction = CallText::Direction::to, .peer = 1},
                             {"src/train.cc", 40, "void step()"}},
      .call_stack = {{"src/train.cc", 40, "step"}, {.function = "main"}}};
  EXPECT_EQ(blocked_call_from_json(to_json(call)), call);
}

TEST(ReportJson, FieldsOfABlockedCallAreAbsentWhereTheyAddNothing) {
  BlockedCall call{.rank = 1, .waits_for = {0, 2}, .waits_for_count = 2};
  const nlohmann::json json = to_json(call);
  for (const char* name : {"context", "waits_for_count", "waits_for_any", "behind", "call_stack"})
    EXPECT_FALSE(json.contains(name)) << name;
  EXPECT_EQ(blocked_call_from_json(json), call);
  call.waits_for_count = 3;
  call.waits_for_any = true;
  EXPECT_EQ(blocked_call_from_json(to_json(call)), call);
}

TEST(ReportJson, CrossedCallsRoundTripThroughJson) {
  Report report;
  EXPECT_FALSE(to_json(report).contains("crossed_calls"));
  report.crossed_calls = {{.most = some_call({0, 1}), .others = some_call({5}), .second = 4}};
  EXPECT_EQ(report_from_json(to_json(report)).crossed_calls, report.crossed_calls);
}

TEST(ReportJson, AJsonErrorNamesTheField) {
  const nlohmann::json good = to_json(full_finding());
  for (const auto& [name, value] : good.items()) {
    if (name == "fix" || name == "operation" || name == "location") continue;  // of the others
    nlohmann::json json = good;
    json.erase(name);
    if (is_optional(name))
      EXPECT_NO_THROW(finding_from_json(json)) << name;
    else
      EXPECT_THAT([&json] { finding_from_json(json); },
                  testing::ThrowsMessage<InvalidArgument>("field " + name + " is missing"));
    json[name] = nullptr;
    EXPECT_THAT([&json] { finding_from_json(json); },
                testing::ThrowsMessage<InvalidArgument>(
                    testing::AllOf(testing::StartsWith("field " + name + ": expected a"),
                                   testing::EndsWith(", found nothing"))));
  }
}

TEST(ReportJson, APlaceIsAValueBesideItsText) {
  const Finding finding{.id = "deadlock", .location = {"/a/src/train.cc", 41, "void step()"}};
  const nlohmann::json json = to_json(finding);
  EXPECT_EQ(json["location"], "train.cc:41");
  EXPECT_EQ(
      json["call_site"],
      nlohmann::json({{"file", "/a/src/train.cc"}, {"line", 41}, {"function", "void step()"}}));
  EXPECT_FALSE(to_json(Finding{.id = "deadlock"}).contains("call_site"));
}

// Files of 0.1.0 before there were values.
TEST(ReportJson, APlaceThatIsOnlyATextIsRead) {
  nlohmann::json json = to_json(full_finding());
  json.erase("call_site");
  EXPECT_EQ(finding_from_json(json).location, (SourceLocation{"train.cc", 41}));
  json.erase("location");
  EXPECT_THAT([&json] { finding_from_json(json); },
              testing::ThrowsMessage<InvalidArgument>("field location is missing"));
  nlohmann::json blocked = to_json(BlockedCall{.call_stack = {{"a.cc", 2, "f"}}});
  EXPECT_EQ(blocked["call_stack"], nlohmann::json({"f at a.cc:2"}));
  blocked.erase("call_frames");
  EXPECT_EQ(frame_text(blocked_call_from_json(blocked).call_stack.at(0)), "f at a.cc:2");
}

// What its JSON keeps.
Report some_report() {
  Report report;
  report.outcome = Outcome::deadlock;
  report.findings = {full_finding(), {.id = "unwaited_work"}};
  report.blocked = {{.rank = 3, .waits_for = {1}}, {.rank = 4, .is_core = false}};
  report.certainty = Certainty{.schedules = Schedules::every};
  report.divergence = "step 3: nobody";
  report.counts = {17, 5, 23, 2, 4};
  report.virtual_time = Duration(5);
  report.wall_time = Duration(7);
  report.trace.digest = 0xfedcba9876543210;
  return report;
}

TEST(ReportJson, AReportSurvivesText) {
  const Report report = some_report();
  const Report back = report_from_json(nlohmann::json::parse(to_json(report).dump()));
  EXPECT_EQ(back.outcome, report.outcome);
  EXPECT_EQ(back.findings, report.findings);
  EXPECT_EQ(back.blocked, report.blocked);
  EXPECT_EQ(back.certainty, report.certainty);
  EXPECT_EQ(back.divergence, report.divergence);
  EXPECT_EQ(back.counts, report.counts);
  EXPECT_EQ(back.virtual_time, report.virtual_time);
  EXPECT_EQ(back.wall_time, report.wall_time);
  EXPECT_EQ(back.trace, report.trace);
  EXPECT_EQ(to_string(back), to_string(report));
}

TEST(ReportJson, EveryOutcomeIsReadBack) {
  for (const Outcome outcome : {Outcome::completed, Outcome::deadlock, Outcome::failed,
                                Outcome::step_limit, Outcome::diverged})
    EXPECT_EQ(parse_outcome(to_string(outcome)), outcome);
  EXPECT_EQ(parse_outcome("won"), std::nullopt);
}

TEST(ReportJson, AReportWithoutAFieldNamesIt) {
  const nlohmann::json good = to_json(some_report());
  for (const auto& [name, value] : good.items()) {
    if (name == "rank_operations" || name == "certainty") continue;
    nlohmann::json json = good;
    json.erase(name);
    EXPECT_THAT([&json] { report_from_json(json); },
                testing::ThrowsMessage<InvalidArgument>("field " + name + " is missing"));
  }
}

TEST(ReportJson, ValuesThatMeanNothingAreNamed) {
  nlohmann::json json = to_json(some_report());
  json["trace_digest"] = "12x";
  EXPECT_THAT([&json] { report_from_json(json); },
              testing::ThrowsMessage<InvalidArgument>(
                  "field trace_digest is '12x'; must be a hexadecimal number"));
  json["outcome"] = "won";
  EXPECT_THAT([&json] { report_from_json(json); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr("field outcome is 'won'")));
}

TEST(ReportJson, ItsJsonHasWhatProgramsReadFromIt) {
  Report report;
  report.outcome = Outcome::deadlock;
  report.findings = {full_finding()};
  report.blocked = {BlockedCall{.rank = 3}};
  report.counts.rank_operations = 17;
  report.virtual_time = Duration(5);
  report.trace.digest = 0xabc;
  const nlohmann::json json = to_json(report);
  EXPECT_EQ(json["outcome"], "deadlock");
  EXPECT_EQ(json["findings"][0]["id"], "mismatch_count");
  EXPECT_EQ(json["blocked"][0]["rank"], 3);
  EXPECT_EQ(json["rank_operations"], 17);
  EXPECT_EQ(json["virtual_time_ns"], 5);
  EXPECT_EQ(json["trace_digest"], "0000000000000abc");
}

}  // namespace
}  // namespace gang::sim
