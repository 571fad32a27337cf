#include "gang/nccl/nccl_collectives.h"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gang/nccl/recording_nccl.h"

namespace gang {
namespace {

using test::RecordedGang;
using testing::ElementsAre;

TEST(NcclCollectives, EachOperationIsThatOfNccl) {
  RecordedGang recorded;
  Gang& gang = *recorded.gang;
  std::vector<float> one(4);
  std::vector<float> two(8);
  gang.all_reduce(view(one), ReduceOperation::mean);
  gang.reduce(view(one), ReduceOperation::max, 1);
  gang.reduce_scatter(view(one), view(two), ReduceOperation::sum);
  gang.all_gather(view(two), view(one));
  std::vector<float> other(8);
  gang.all_to_all(view(two), view(other));
  gang.broadcast(view(one), 1);
  EXPECT_THAT(recorded.nccl->log,
              ElementsAre("all_reduce 4 f32 mean", "reduce 4 f32 max 1", "reduce_scatter 4 f32 sum",
                          "all_gather 4 f32", "all_to_all 4 f32", "broadcast 4 f32 1"));
}

TEST(NcclCollectives, BoolIsBytes) {
  RecordedGang recorded;
  bool flag = true;
  recorded.gang->all_reduce(view_of(flag), ReduceOperation::bitwise_and);
  recorded.gang->all_reduce(view_of(flag), ReduceOperation::bitwise_or);
  EXPECT_THAT(recorded.nccl->log, ElementsAre("all_reduce 1 u8 min", "all_reduce 1 u8 max"));
}

TEST(NcclCollectives, BitwiseReductionsAreGathered) {
  RecordedGang recorded;
  std::vector<std::int32_t> one(3);
  std::vector<std::int32_t> two(6);
  recorded.gang->all_reduce(view(one), ReduceOperation::bitwise_xor);
  recorded.gang->reduce(view(one), ReduceOperation::bitwise_or, 1);
  recorded.gang->reduce_scatter(view(one), view(two), ReduceOperation::bitwise_and);
  EXPECT_THAT(recorded.nccl->log,
              ElementsAre("all_gather 3 i32", "gather 3 i32 1", "all_to_all 3 i32"));
}

TEST(NcclCollectives, ScansAreGathered) {
  RecordedGang recorded;
  std::vector<float> values(3);
  recorded.gang->scan(view(values), ReduceOperation::sum);
  recorded.gang->exclusive_scan(view(values), ReduceOperation::sum);
  EXPECT_THAT(recorded.nccl->log, ElementsAre("all_gather 3 f32", "all_gather 3 f32"));
}

TEST(NcclCollectives, OperationsWithoutElementsStillMatch) {
  RecordedGang recorded;
  std::vector<float> none;
  recorded.gang->all_reduce(view(none), ReduceOperation::sum);
  recorded.gang->barrier();
  recorded.gang->send(view(none), 1);
  EXPECT_THAT(recorded.nccl->log,
              ElementsAre("all_reduce 1 u8 max", "all_reduce 1 u8 max", "(", "send 1 u8 1", ")"));
}

TEST(NcclCollectives, UnevenExchangesAreMessagesOfOneGroup) {
  RecordedGang recorded;
  std::vector<float> output(3);
  std::vector<float> input(2);
  const std::vector<std::int64_t> to = {2, 0};
  const std::vector<std::int64_t> from = {2, 1};
  recorded.gang->all_to_all(view(output), view(input), {.output = from, .input = to});
  EXPECT_THAT(recorded.nccl->log, ElementsAre("all_reduce 1 u8 max", "(", "send 2 f32 0",
                                              "recv 2 f32 0", "recv 1 f32 1", ")"));
}

TEST(NcclCollectives, AllGatherWithCountsSendsTheWholeInputToEveryRank) {
  RecordedGang recorded;
  std::vector<float> output(3);
  std::vector<float> input(2);
  recorded.gang->all_gather(view(output), view(input), std::vector<std::int64_t>{2, 1});
  EXPECT_THAT(recorded.nccl->log, ElementsAre("all_reduce 1 u8 max", "(", "send 2 f32 0",
                                              "recv 2 f32 0", "send 2 f32 1", "recv 1 f32 1", ")"));
}

template <typename Body>
std::string refusal_of(const Body& body) {
  try {
    body();
  } catch (const NotSupported& error) {
    return error.what();
  }
  return "none";
}

TEST(NcclCollectives, WhatNcclCannotDoIsRefusedBeforeAnythingIsLaunched) {
  RecordedGang recorded;
  Gang& gang = *recorded.gang;
  float value = 0;
  const TensorView tensor = view_of(value);
  EXPECT_THAT(refusal_of([&] { gang.send(tensor, 1, 7); }), testing::HasSubstr("tag is 7"));
  EXPECT_THAT(refusal_of([&] { gang.recv(tensor); }), testing::HasSubstr("from any rank"));
  EXPECT_THAT(refusal_of([&] { gang.recv(tensor, 1, any_tag); }), testing::HasSubstr("no tags"));
  EXPECT_THAT(refusal_of([&] { gang.start_send(tensor, 0); }),
              testing::HasSubstr("only in a batch"));
  const PointToPoint tagged[] = {{OperationKind::send, tensor, 1, 3}};
  EXPECT_THAT(refusal_of([&] { gang.batch(tagged); }), testing::HasSubstr("tag is 3"));
  EXPECT_THAT(recorded.nccl->log, testing::IsEmpty());
  gang.all_reduce(tensor, ReduceOperation::sum);  // still usable
}

TEST(NcclCollectives, TensorsAreWhereTheGangIs) {
  RecordedGang recorded(2, NcclTensors::on_device);
  std::vector<float> values(4);
  EXPECT_THROW(recorded.gang->all_reduce(view(values), ReduceOperation::sum), InvalidArgument);
  const TensorView there(values.data(), DataType::f32, Shape::vector(4), {DeviceType::cuda, 0});
  recorded.gang->all_reduce(there, ReduceOperation::sum);
  const TensorView elsewhere(values.data(), DataType::f32, Shape::vector(4), {DeviceType::cuda, 1});
  EXPECT_THROW(recorded.gang->all_reduce(elsewhere, ReduceOperation::sum), InvalidArgument);
  EXPECT_THAT(recorded.nccl->log, ElementsAre("all_reduce 4 f32 sum"));
}

// Two ranks whose bytes differ by one, on the host.
class NcclBytes : public testing::Test {
 protected:
  using Bytes = std::vector<std::uint8_t>;
  NcclBytes() { recorded.nccl->moves_bytes = true; }

  RecordedGang recorded;
  Bytes one = {1, 2};
  Bytes first = {0, 0};
  Bytes second = {0, 0};
};

TEST_F(NcclBytes, EachTensorOfAListGetsThePartOfItsRank) {
  const std::vector<TensorView> outputs = {view(first), view(second)};
  recorded.gang->all_gather_to_list(outputs, view(one));
  EXPECT_EQ(first, one);
  EXPECT_EQ(second, (Bytes{2, 3}));
  first = second = {0, 0};
  recorded.gang->gather(outputs, view(one), 0);
  EXPECT_EQ(first, one);
  EXPECT_EQ(second, (Bytes{2, 3}));
}

TEST_F(NcclBytes, AScatterGivesEachRankItsTensor) {
  second = {3, 4};
  recorded.gang->scatter(view(first), std::vector<TensorView>{view(one), view(second)}, 0);
  EXPECT_EQ(recorded.nccl->given, (Bytes{1, 2, 3, 4}));
  EXPECT_EQ(first, one);
}

TEST_F(NcclBytes, UnevenPartsGoToTheirPlaces) {
  Bytes input = {1, 2, 3};
  Bytes output = {7, 7, 7};
  const std::vector<std::int64_t> to = {1, 2};
  const std::vector<std::int64_t> from = {1, 2};
  recorded.gang->all_to_all(view(output), view(input), {.output = from, .input = to});
  EXPECT_EQ(recorded.nccl->given, input);
  EXPECT_EQ(output, (Bytes{0, 1, 1})) << "the ranks they came from";
}

TEST_F(NcclBytes, MessagesOfABatchArrive) {
  const PointToPoint batch[] = {{OperationKind::send, view(one), 1, 0},
                                {OperationKind::recv, view(first), 1, 0}};
  recorded.gang->batch(batch);
  EXPECT_EQ(recorded.nccl->given, one);
  EXPECT_EQ(first, (Bytes{1, 1}));
}

TEST_F(NcclBytes, AReductionThatTheHostMakesCoversTheRanksOfItsKind) {
  recorded.gang->all_reduce(view(first), view(one), ReduceOperation::bitwise_xor);
  EXPECT_EQ(first, (Bytes{1 ^ 2, 2 ^ 3}));
  recorded.gang->scan(view(second), view(one), ReduceOperation::sum);
  EXPECT_EQ(second, one) << "of rank 0";
}

TEST(NcclCollectives, TheLaunchOfAnotherThreadIsTakenFirst) {
  RecordedGang recorded;
  NcclCommunicator communicator;
  NcclStream stream;
  recorded.nccl->launch(communicator, stream, {.count = 5}, {});
  EXPECT_EQ(recorded.nccl->state(communicator), NcclStatus::in_progress);
  recorded.gang->barrier();
  EXPECT_THAT(recorded.nccl->log, ElementsAre("all_reduce 5 f32 sum", "all_reduce 1 u8 max"));
}

TEST(NcclCollectives, AfterALaunchThatFailedNothingElseIsLaunched) {
  RecordedGang recorded;
  recorded.nccl->holds_events = true;
  recorded.nccl->status = NcclStatus::remote_error;
  std::vector<float> from(3);
  std::vector<float> to(3);
  const std::vector<std::int64_t> splits = {1, 2};
  try {
    recorded.gang->all_to_all(view(to), view(from), {.output = splits, .input = splits});
    ADD_FAILURE() << "it has not failed";
  } catch (const GangError& error) {
    EXPECT_EQ(error.kind(), GangErrorKind::peer_failed);
  }
  EXPECT_THAT(recorded.nccl->log, testing::Contains("all_reduce 1 u8 max"));
  EXPECT_THAT(recorded.nccl->log, testing::Not(testing::Contains("(")));
}

}  // namespace
}  // namespace gang
