#include "harness/program/output.h"

#include <span>

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

Outputs record(const std::vector<std::vector<float>>& by_rank, KeepOutputs keep) {
  OutputRecorder recorder{static_cast<int>(by_rank.size()), keep};
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    recorder.record(static_cast<int>(rank), "values", view(by_rank[rank]));
  }
  return recorder.take_outputs();
}

TEST(OutputRecorder, DigestsInRankOrder) {
  const auto digest = [](const std::vector<std::vector<float>>& by_rank) {
    return record(by_rank, KeepOutputs::digest_only).digest;
  };
  EXPECT_EQ(digest({{1}, {2}}), digest({{1}, {2}}));
  EXPECT_NE(digest({{1}, {2}}), digest({{2}, {1}}));
  EXPECT_NE(digest({{1}, {2}}), digest({{1}, {3}}));
}

TEST(OutputRecorder, DigestsNamesAndTypesToo) {
  const auto digest = [](std::string_view name, const TensorView& values) {
    OutputRecorder recorder{1, KeepOutputs::digest_only};
    recorder.record(0, name, values);
    return recorder.take_outputs().digest;
  };
  std::int32_t whole = 0;
  float real = 0;
  EXPECT_EQ(digest("loss", view_of(real)), digest("loss", view_of(real)));
  EXPECT_NE(digest("loss", view_of(real)), digest("gain", view_of(real)));
  EXPECT_NE(digest("loss", view_of(real)), digest("loss", view_of(whole)));
}

TEST(OutputRecorder, KeepsTheDataOnlyWhereAskedFor) {
  EXPECT_FALSE(record({{1}}, KeepOutputs::digest_only).are_kept());
  const Outputs kept = record({{1, 2}}, KeepOutputs::data);
  ASSERT_TRUE(kept.are_kept());
  EXPECT_EQ(kept.by_rank[0][0].name, "values");
  EXPECT_EQ(kept.by_rank[0][0].count, 2);
}

TEST(OutputRecorder, KeepingTheDataDoesNotChangeTheDigest) {
  EXPECT_EQ(record({{1}, {2}}, KeepOutputs::data).digest,
            record({{1}, {2}}, KeepOutputs::digest_only).digest);
}

TEST(OutputRecorder, ForgetsARankThatStartsAgain) {
  std::vector<float> values = {1, 2};
  OutputRecorder recorder{1, KeepOutputs::data};
  recorder.record(0, "values", view(values));
  recorder.begin_rank(0);
  recorder.record(0, "values", view(values));
  EXPECT_EQ(recorder.take_outputs().digest, record({values}, KeepOutputs::data).digest);
}

TEST(OutputRecorder, NamesWrongRanksOnceAndTheLowestOnesMessage) {
  OutputRecorder recorder{4, KeepOutputs::digest_only};
  recorder.record_wrong_result(3, "three");
  recorder.record_wrong_result(1, "one", {"train.cc", 41});
  recorder.record_wrong_result(3, "three again");
  EXPECT_EQ(recorder.wrong_results().ranks, (std::vector{1, 3}));
  EXPECT_EQ(recorder.wrong_results().first_message, "one");
  EXPECT_EQ(to_string(recorder.wrong_results().first_location), "train.cc:41");
}

TEST(OutputRecorder, DropsTheOutputsOfARankThatStartsAgain) {
  std::vector<float> values = {1, 2};
  OutputRecorder recorder{2, KeepOutputs::data};
  for (const int rank : {0, 1}) recorder.record(rank, "values", view(values));
  recorder.begin_rank(0);
  recorder.record(0, "again", view(values));
  const Outputs outputs = recorder.take_outputs();
  ASSERT_EQ(outputs.by_rank[0].size(), 1U);
  EXPECT_EQ(outputs.by_rank[0][0].name, "again");
  EXPECT_EQ(outputs.by_rank[1].size(), 1U);
}

TEST(OutputRecorder, KeepsTheLastNoteOfARank) {
  OutputRecorder recorder{2, KeepOutputs::digest_only};
  recorder.record_note(1, "first");
  recorder.record_note(1, "second");
  EXPECT_EQ(recorder.take_notes(), (std::vector<std::string>{"", "second"}));
}

TEST(OutputRecorder, OfARankThatIsWrongTwiceTheFirstMessageCounts) {
  OutputRecorder recorder{4, KeepOutputs::digest_only};
  recorder.record_wrong_result(1, "first");
  recorder.record_wrong_result(1, "second");
  EXPECT_EQ(recorder.wrong_results().first_message, "first");
}

TEST(OutputRecorder, KeepsTypesAndBytes) {
  std::vector<std::int64_t> values = {7, -1};
  OutputRecorder recorder{1, KeepOutputs::data};
  recorder.record(0, "values", view(values));
  const Outputs outputs = recorder.take_outputs();
  const auto bytes = std::as_bytes(std::span(values));
  EXPECT_EQ(outputs.by_rank[0][0], (Output{.name = "values",
                                           .type = DataType::i64,
                                           .count = 2,
                                           .data = {bytes.begin(), bytes.end()}}));
}

// Saved digests depend on it.
TEST(OutputRecorder, TheDigestOfARunIsThatOfTheDigestsOfItsRanks) {
  std::vector<float> values = {1, 2};
  Digest of_rank;
  of_rank.add("values");
  of_rank.add(static_cast<std::uint64_t>(DataType::f32));
  of_rank.add(std::as_bytes(std::span(values)));
  Digest of_run;
  of_run.add(of_rank.value());
  EXPECT_EQ(record({values}, KeepOutputs::digest_only).digest, of_run.value());
}

}  // namespace
}  // namespace gang::harness
