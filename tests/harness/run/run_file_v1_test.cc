#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/run/run_file.h"
#include "sim/report/call_json.h"
#include "sim/report/report_json.h"

namespace gang::harness {
namespace {

using nlohmann::json;
using sim::Certainty;
using sim::Dependence;
using sim::Schedules;
using testing::ElementsAre;
using testing::HasSubstr;

// Written by `run --json` of the last version that wrote version 1, in tests/: a fault plan is
// named by its path from there.
RunResult saved(const std::string& name) {
  std::filesystem::current_path(GANGSIM_SOURCE_DIR "/tests");
  return read_run_file(GANGSIM_SOURCE_DIR "/tests/harness/run/version_1/" + name);
}

TEST(RunFileV1, ADeadlockIsReadWithItsCallsAndGangs) {
  const sim::Report report = saved("tp_dp_deadlock.json").report;
  ASSERT_EQ(report.blocked.size(), 4U);
  EXPECT_EQ(report.blocked[0].gang, (GangLabel{"dp", "0,2"}));
  EXPECT_EQ(report.blocked[0].call,
            (CallText{.kind = "all_reduce", .sequence = 0, .payload = "sum f32[1024]"}));
  const sim::Finding& finding = report.findings.at(0);
  EXPECT_EQ(finding.gang, report.blocked[0].gang);
  EXPECT_EQ(finding.call, report.blocked[0].call);
  EXPECT_THAT(finding.message, testing::EndsWith("before dp."));
  EXPECT_EQ(finding.detail, "Each waits for the next: 0 → 2 → 3 → 1 → 0.");
  EXPECT_EQ(finding.certainty, Certainty{.schedules = Schedules::every});
  EXPECT_EQ(report.certainty, finding.certainty);
}

TEST(RunFileV1, ATimelineIsReadWithItsCallsAndGangs) {
  const sim::Timeline timeline = saved("tp_dp_deadlock.json").report.timeline;
  EXPECT_THAT(timeline.gangs,
              ElementsAre(GangLabel{"root", "0-3"}, GangLabel{"dp", "0,2"}, GangLabel{"tp", "0,1"},
                          GangLabel{"tp", "2,3"}, GangLabel{"dp", "1,3"}));
  EXPECT_EQ(timeline.calls.at(0).call, CallText{.kind = "split"});
  EXPECT_EQ(timeline.calls.at(1).call,
            (CallText{.kind = "all_reduce", .payload = "sum f32[1024]"}));
}

TEST(RunFileV1, WhatFaultsLedToIsRead) {
  const sim::Report report = saved("early_stop.json").report;
  EXPECT_EQ(report.findings.at(0).certainty.value().faults, Dependence::needed);
  EXPECT_EQ(report.findings[0].divergence.value().last_common.call,
            (CallText{.kind = "barrier", .sequence = 7}));
  EXPECT_THAT(report.timeline.fault_steps, testing::Not(testing::IsEmpty()));
}

TEST(RunFileV1, WhatIsQueuedOnAStreamIsRead) {
  const sim::Report report = saved("stream_order_inversion.json").report;
  const auto queued = std::ranges::find_if(
      report.blocked, [](const sim::BlockedCall& call) { return call.behind.has_value(); });
  ASSERT_NE(queued, report.blocked.end());
  EXPECT_THAT(to_string(queued->behind->gang), testing::ContainsRegex("^[a-z]+\\[[0-9,-]+\\]$"));
  EXPECT_EQ(queued->behind->call.kind, "all_reduce");
  EXPECT_EQ(queued->behind->call.sequence, 0U);
  EXPECT_THAT(to_string(queued->behind->location), HasSubstr("stream_order_inversion.toml:"));
}

TEST(RunFileV1, SaysTheSameOnceItIsWrittenAgain) {
  for (const char* name :
       {"tp_dp_deadlock.json", "early_stop.json", "stream_order_inversion.json"}) {
    const RunResult result = saved(name);
    const std::string text = to_file_text(result);
    EXPECT_EQ(json::parse(text)["version"], run_file_version);
    EXPECT_EQ(to_string(run_result_from_text(text)), to_string(result));
  }
}

// What version 1 wrote for calls and certainties, by upgrading a file that has them.
sim::Finding upgraded(const std::string& operation, const std::string& certainty) {
  json finding = {{"id", "deadlock"},
                  {"ranks", {0}},
                  {"gang", "dp[0,2]"},
                  {"operation", operation},
                  {"message", ""},
                  {"location", ""},
                  {"consequences", json::array()},
                  {"certainty", certainty}};
  const json run = {{"findings", json::array({std::move(finding)})}, {"blocked", json::array()}};
  return sim::finding_from_json(upgraded_from_v1(run)["findings"][0]);
}

TEST(RunFileV1, CallsAreTakenApart) {
  for (const char* text :
       {"all_reduce #3 sum f32[1024]", "send f32[4] to rank 1 tag 7 \"a to b\"", "barrier #0",
        "recv f32[] from any rank any tag", "recv f32[4] from one rank each tag 4",
        "broadcast #0 f32[8] from rank 2 \"x\"", "batch of 3 operations", "split #1 \"\"",
        "create_gang #0 of 2 ranks", "join of loader", "poll that never succeeds", "shrink", ""})
    EXPECT_EQ(to_string(upgraded(text, "").call), text);
  EXPECT_EQ(upgraded("send f32[4] to rank 1 tag 7 \"a to b\"", "").call,
            (CallText{.kind = "send",
                      .payload = "f32[4]",
                      .direction = CallText::Direction::to,
                      .peer = 1,
                      .qualifiers = "tag 7 \"a to b\""}));
  EXPECT_EQ(upgraded("join of loader", "").call, CallText{.kind = "join of loader"});
}

TEST(RunFileV1, CertaintiesAreTakenApart) {
  const auto certainty = [](const char* text) { return upgraded("", text).certainty; };
  EXPECT_EQ(certainty(""), std::nullopt);
  EXPECT_EQ(certainty("seen in this schedule: others may avoid it"), Certainty{});
  EXPECT_EQ(
      certainty("in every schedule with 64 bytes of buffer: no choice point was passed"),
      (Certainty{.schedules = Schedules::every, .sends = Dependence::open, .buffered_bytes = 64}));
  EXPECT_EQ(certainty("in every schedule under stream order but only with rendezvous sends: with "
                      "buffered sends it completes"),
            (Certainty{.schedules = Schedules::every,
                       .sends = Dependence::needed,
                       .streams = Dependence::open}));
  EXPECT_EQ(certainty("in every schedule with rendezvous sends: with buffered sends it ends in "
                      "unreceived_message too"),
            (Certainty{.schedules = Schedules::every,
                       .sends = Dependence::not_needed,
                       .otherwise = "unreceived_message"}));
  EXPECT_EQ(certainty("without the faults, too: they are not the cause"),
            Certainty{.faults = Dependence::not_needed});
  EXPECT_EQ(certainty("with the faults: without them the run ends in timed_out"),
            (Certainty{.faults = Dependence::not_needed, .otherwise = "timed_out"}));
}

TEST(RunFileV1, AFieldThatIsMissingOrOfAnotherTypeIsNamed) {
  EXPECT_THAT([] { upgraded_from_v1({{"blocked", json::array()}}); },
              testing::ThrowsMessage<InvalidArgument>("field findings is missing"));
  EXPECT_THAT(
      [] { upgraded_from_v1({{"findings", json::array()}, {"blocked", {{{"operation", 3}}}}}); },
      testing::ThrowsMessage<InvalidArgument>(
          "field operation: expected a string, found a number"));
  EXPECT_THROW(upgraded_from_v1(
                   {{"findings", json::array()}, {"blocked", json::array()}, {"timeline", "none"}}),
               InvalidArgument);
}

TEST(RunFileV1, MoreCallsAreTakenApart) {
  EXPECT_EQ(upgraded("recv f32[] from any rank any tag", "").call,
            (CallText{.kind = "recv",
                      .payload = "f32[]",
                      .direction = CallText::Direction::from,
                      .peer = any_rank,
                      .qualifiers = "any tag"}));
  EXPECT_EQ(upgraded("shrink \"x\"", "").call, (CallText{.kind = "shrink", .qualifiers = "\"x\""}));
}

json upgraded_finding(const json& changes) {
  json finding = {{"gang", "dp[0,2]"}, {"operation", "barrier #0"}, {"message", ""}};
  finding.update(changes);
  return upgraded_from_v1(
      {{"findings", json::array({finding})}, {"blocked", json::array()}})["findings"][0];
}

TEST(RunFileV1, ASentenceEndsBeforeACapitalLetter) {
  const json finding = upgraded_finding(
      {{"message", "Rank 1 called barrier (no. 3 of 4). others wait. Each waits. Nobody comes."}});
  EXPECT_EQ(finding["message"], "Rank 1 called barrier (no. 3 of 4). others wait.");
  EXPECT_EQ(finding["detail"], "Each waits. Nobody comes.");
}

TEST(RunFileV1, ANameOfAGangMayHaveBrackets) {
  const json finding = upgraded_finding({{"gang", "layer[3][0,2]"}});
  EXPECT_EQ(finding["gang"], sim::to_json(GangLabel{"layer[3]", "0,2"}));
}

TEST(RunFileV1, BothCallsOfANearMissAreRead) {
  const json call = {{"gang", "tp[0,1]"}, {"operation", "send f32[4] to rank 1"}};
  const json finding =
      upgraded_finding({{"near_misses", json::array({{{"first", call}, {"second", call}}})}});
  for (const char* side : {"first", "second"})
    EXPECT_EQ(
        finding["near_misses"][0][side]["call"],
        sim::to_json(CallText{
            .kind = "send", .payload = "f32[4]", .direction = CallText::Direction::to, .peer = 1}));
}

TEST(RunFileV1, WhatWasSeenInAnotherRunIsNotCertainty) {
  EXPECT_EQ(upgraded("", "seen in another run").certainty, std::nullopt);
  EXPECT_EQ(upgraded("", "only because of the faults").certainty,
            Certainty{.faults = Dependence::needed});
  EXPECT_EQ(upgraded("", "in every schedule under stream order: without streams it completes")
                .certainty.value()
                .streams,
            Dependence::not_needed);
}

TEST(RunFileV1, TheCallsOfANearMissAreToldApart) {
  const json finding = upgraded_finding(
      {{"near_misses",
        json::array(
            {{{"first", {{"gang", "tp[0,1]"}, {"operation", "send f32[4] to rank 1"}}},
              {"second", {{"gang", "tp[0,1]"}, {"operation", "recv f32[4] from rank 0"}}}}})}});
  EXPECT_EQ(finding["near_misses"][0]["first"]["call"]["kind"], "send");
  EXPECT_EQ(finding["near_misses"][0]["second"]["call"]["kind"], "recv");
}

TEST(RunFileV1, CertaintiesOfDevicesAndOfOtherEndsAreTakenApart) {
  const auto certainty = [](const char* text) { return upgraded("", text).certainty.value(); };
  EXPECT_EQ(certainty("in every schedule on devices that run 2 kernels at a time").resident_kernels,
            2);
  EXPECT_EQ(certainty("in every schedule under stream order: without streams it ends otherwise"),
            (Certainty{.schedules = Schedules::every,
                       .streams = Dependence::not_needed,
                       .otherwise = "another outcome"}));
  EXPECT_EQ(certainty("in every schedule but only under stream order with rendezvous sends: "
                      "otherwise it completes"),
            (Certainty{.schedules = Schedules::every,
                       .sends = Dependence::needed,
                       .streams = Dependence::needed}));
}

}  // namespace
}  // namespace gang::harness
