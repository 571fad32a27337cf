#include "harness/backends/rank_outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "harness/backends/process_fault.h"

namespace gang::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RankOutcome failed(std::string text, std::optional<GangErrorKind> kind = {}) {
  return {.failure = RankOutcome::Failure{std::move(text), kind, {}}};
}

TEST(RankOutcome, SurvivesTheWayBetweenProcesses) {
  const RankOutcome outcome{
      .outputs = {{"a", DataType::bf16, 2, std::vector<std::byte>(4, std::byte{0xfe})},
                  {"", DataType::boolean, 0, {}}},
      .note = std::string("a\0b", 3),
      .wrong_result = "not this",
      .wrong_result_location = {"train.cc", 41},
      .failure =
          RankOutcome::Failure{
              "text", GangErrorKind::mismatch, {2, 3}, Duration(5), true, CallDifference::label},
      .operations = 17,
      .struck = 2};
  EXPECT_EQ(rank_outcome_from_bytes(to_bytes(outcome)), outcome);
  EXPECT_EQ(rank_outcome_from_bytes(to_bytes({})), RankOutcome{});
}

TEST(RankOutcome, DamagedBytesAreBadInput) {
  EXPECT_THROW(rank_outcome_from_bytes(""), InvalidArgument);
  EXPECT_THROW(rank_outcome_from_bytes("nonsense"), InvalidArgument);
  EXPECT_THROW(rank_outcome_from_bytes(std::string(1'000'000, '\x91')), InvalidArgument);
  EXPECT_THROW(rank_outcome_from_bytes(to_bytes({}).substr(1)), InvalidArgument);
}

// Elements are read from the bytes, and kinds are looked up.
TEST(RankOutcome, NumbersThatDoNotFitAreBadInput) {
  for (const std::int64_t count : {-1, 0, 1, 3, 1'000'000}) {
    const RankOutcome outcome{
        .outputs = {{"sum", DataType::f32, count, std::vector<std::byte>(8)}}};
    EXPECT_THROW(rank_outcome_from_bytes(to_bytes(outcome)), InvalidArgument) << count;
  }
  const auto kind = static_cast<GangErrorKind>(17);
  EXPECT_THROW(rank_outcome_from_bytes(to_bytes(failed("a", kind))), InvalidArgument);
  const RankOutcome odd{.outputs = {{"sum", DataType::f32, 1, std::vector<std::byte>(7)}}};
  EXPECT_THROW(rank_outcome_from_bytes(to_bytes(odd)), InvalidArgument);
}

TEST(RankOutcome, NumbersThatAreNotWholeOnesAreBadInput) {
  RankOutcome outcome = failed("a", GangErrorKind::timeout);
  outcome.outputs = {{"sum", DataType::f32, 2, std::vector<std::byte>(8)}};
  const auto whole = nlohmann::json::from_msgpack(to_bytes(outcome));
  for (const char* place : {"/operations", "/struck", "/outputs/0/count", "/failure/elapsed_ns",
                            "/failure/kind", "/failure/ranks/0"}) {
    for (const double number : {1e300, 0.5}) {
      nlohmann::json other = whole;
      other[nlohmann::json::json_pointer(place)] = number;
      const std::vector<std::uint8_t> bytes = nlohmann::json::to_msgpack(other);
      EXPECT_THROW(rank_outcome_from_bytes(std::string(bytes.begin(), bytes.end())),
                   InvalidArgument)
          << place;
    }
  }
}

TEST(FailureOf, KeepsWhatAGangErrorKnows) {
  const auto failure =
      failure_of(GangError({.kind = GangErrorKind::timeout, .gang = "dp", .ranks_at_fault = {4}}));
  EXPECT_EQ(failure.kind, GangErrorKind::timeout);
  EXPECT_EQ(failure.ranks_at_fault, std::vector<int>{4});
  EXPECT_EQ(failure_of(std::runtime_error("other")).kind, std::nullopt);
}

TEST(ReportOf, RanksThatAllReturnedCompleted) { EXPECT_TRUE(report_of({{}, {}}).holds()); }

TEST(ReportOf, AnExceptionIsTheCauseAndLostPeersAreConsequences) {
  const sim::Report report =
      report_of({failed("lost rank 1", GangErrorKind::peer_failed), failed("out of paper"), {}});
  EXPECT_EQ(report.outcome, sim::Outcome::failed);
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].id, sim::finding_id::rank_failed);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(report.findings[0].message, "Rank 1 failed: out of paper.");
  EXPECT_THAT(report.findings[0].consequences, ElementsAre(HasSubstr("lost rank 1")));
}

TEST(ReportOf, MismatchesHaveTheIdsOfSimulatedRuns) {
  const auto id = [](std::optional<CallDifference> difference) {
    RankOutcome outcome = failed("a", GangErrorKind::mismatch);
    outcome.failure->difference = difference;
    return report_of({outcome}).findings.at(0).id;
  };
  EXPECT_EQ(id(CallDifference::count), "mismatch_count");
  EXPECT_EQ(id(CallDifference::data_type), "mismatch_data_type");
  EXPECT_EQ(id(CallDifference::reduce_operation), "mismatch_reduce_operation");
  EXPECT_EQ(id(CallDifference::root), "mismatch_root");
  EXPECT_EQ(id(CallDifference::label), "mismatch_label");
  EXPECT_EQ(id(CallDifference::ranks), "mismatch_ranks");
  EXPECT_EQ(id(CallDifference::operation), "mismatch_operation");
  EXPECT_EQ(id(std::nullopt), "mismatch_operation");
}

TEST(ReportOf, TimeoutsNameAllWhoWaited) {
  const sim::Report report =
      report_of({failed("a", GangErrorKind::timeout), {}, failed("b", GangErrorKind::timeout)});
  EXPECT_EQ(report.findings.at(0).id, sim::finding_id::timed_out);
  EXPECT_THAT(report.findings.at(0).ranks, ElementsAre(0, 2));
}

TEST(ReportOf, TheErrorNearestToTheCauseIsTheFinding) {
  using Kinds = std::vector<std::optional<GangErrorKind>>;
  const std::vector<Kinds> from_near_to_far = {
      {std::nullopt},
      {GangErrorKind::mismatch, GangErrorKind::corrupt},
      {GangErrorKind::timeout},
      {GangErrorKind::aborted},
      {GangErrorKind::peer_failed, GangErrorKind::connection}};
  for (std::size_t near = 0; near + 1 < from_near_to_far.size(); ++near)
    for (const auto& cause : from_near_to_far[near])
      for (const auto& consequence : from_near_to_far[near + 1]) {
        const sim::Report report = report_of({failed("a", consequence), failed("b", cause)});
        ASSERT_EQ(report.findings.size(), 1U) << near;
        EXPECT_THAT(report.findings[0].ranks, ElementsAre(1)) << near;
      }
}

TEST(Record, GivesTheOutputsToTheRecorder) {
  std::vector<RankOutcome> outcomes(2);
  outcomes[1].outputs = {{"a", DataType::u8, 1, {std::byte{9}}}};
  outcomes[1].wrong_result = "nine";
  outcomes[1].wrong_result_location = {"train.cc", 9};
  outcomes[1].note = "noted";
  OutputRecorder recorder(2, KeepOutputs::data);
  record(outcomes, recorder);
  EXPECT_EQ(recorder.wrong_results().first_message, "nine");
  EXPECT_EQ(to_string(recorder.wrong_results().first_location), "train.cc:9");
  EXPECT_THAT(recorder.take_notes(), ElementsAre("", "noted"));
  const Outputs outputs = recorder.take_outputs();
  EXPECT_TRUE(outputs.by_rank[0].empty());
  EXPECT_EQ(outputs.by_rank[1], outcomes[1].outputs);
}

TEST(RankOutcome, EveryKindAndDifferenceSurvives) {
  for (int kind = 0; kind <= static_cast<int>(GangErrorKind::corrupt); ++kind) {
    const RankOutcome outcome = failed("a", static_cast<GangErrorKind>(kind));
    EXPECT_EQ(rank_outcome_from_bytes(to_bytes(outcome)), outcome) << kind;
  }
  for (int difference = 0; difference <= static_cast<int>(CallDifference::label); ++difference) {
    RankOutcome outcome = failed("a");
    outcome.failure->difference = static_cast<CallDifference>(difference);
    EXPECT_EQ(rank_outcome_from_bytes(to_bytes(outcome)), outcome) << difference;
  }
  EXPECT_THROW(rank_outcome_from_bytes(to_bytes(failed("a", static_cast<GangErrorKind>(-1)))),
               InvalidArgument);
}

TEST(FailureOf, KeepsWhenAndHowCallsDiffered) {
  const auto failure = failure_of(GangError({.kind = GangErrorKind::mismatch,
                                             .gang = "dp",
                                             .elapsed = Duration(70),
                                             .difference = CallDifference::root}));
  EXPECT_EQ(failure.elapsed, Duration(70));
  EXPECT_EQ(failure.difference, CallDifference::root);
  EXPECT_FALSE(failure.is_injected);
  EXPECT_TRUE(failure_of(InjectedFault("so it was planned")).is_injected);
}

TEST(ReportOf, HasAtMostFourConsequences) {
  std::vector<RankOutcome> outcomes = {failed("out of paper")};
  for (int rank = 1; rank < 7; ++rank)
    outcomes.push_back(failed("lost rank 0", GangErrorKind::peer_failed));
  const sim::Report report = report_of(outcomes);
  EXPECT_THAT(report.findings.at(0).ranks, ElementsAre(0));
  EXPECT_THAT(report.findings.at(0).consequences,
              ElementsAre("Rank 1 failed: lost rank 0.", "Rank 2 failed: lost rank 0.",
                          "Rank 3 failed: lost rank 0.", "Rank 4 failed: lost rank 0."));
}

TEST(Record, AWrongResultIsThatOfItsRank) {
  std::vector<RankOutcome> outcomes(3);
  outcomes[1].wrong_result = "nine";
  outcomes[2].wrong_result = "ten";
  OutputRecorder recorder(3, KeepOutputs::data);
  record(outcomes, recorder);
  EXPECT_THAT(recorder.wrong_results().ranks, ElementsAre(1, 2));
  EXPECT_TRUE(recorder.take_notes().empty());
}

TEST(Record, ReplacesWhatTheRankHasRecorded) {
  std::vector<RankOutcome> outcomes(1);
  outcomes[0].outputs = {{"a", DataType::u8, 1, {std::byte{9}}}};
  OutputRecorder recorder(1, KeepOutputs::data);
  record(outcomes, recorder);
  record(outcomes, recorder);
  EXPECT_EQ(recorder.take_outputs().by_rank[0], outcomes[0].outputs);
}

}  // namespace
}  // namespace gang::harness
