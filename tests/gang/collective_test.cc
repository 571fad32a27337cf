#include "gang/collective.h"

#include <gtest/gtest.h>

namespace gang {
namespace {

Collective some_collective(OperationKind kind) {
  Collective collective;
  collective.kind = kind;
  collective.shape = Shape::vector(4);
  collective.count = 4;
  return collective;
}

TEST(Collective, TextOfAReductionNamesSequenceNumberReductionTypeAndShape) {
  Collective collective = some_collective(OperationKind::all_reduce);
  collective.sequence_number = 3;
  collective.shape = Shape::vector(1024);
  EXPECT_EQ(to_string(collective), "all_reduce #3 sum f32[1024]");
}

TEST(Collective, TextOfARootedOperationNamesTheRootAndTheDirection) {
  Collective collective = some_collective(OperationKind::broadcast);
  collective.peer = 2;
  EXPECT_EQ(to_string(collective), "broadcast #0 f32[4] from rank 2");
  collective.kind = OperationKind::reduce;
  collective.reduce_operation = ReduceOperation::max;
  EXPECT_EQ(to_string(collective), "reduce #0 max f32[4] to rank 2");
  collective.kind = OperationKind::gather;
  EXPECT_EQ(to_string(collective), "gather #0 f32[4] to rank 2");
  collective.kind = OperationKind::scatter;
  EXPECT_EQ(to_string(collective), "scatter #0 f32[4] from rank 2");
}

TEST(Collective, TextOfPointToPointNamesPeerAndTag) {
  Collective collective = some_collective(OperationKind::send);
  collective.peer = 1;
  collective.tag = 7;
  EXPECT_EQ(to_string(collective), "send f32[4] to rank 1 tag 7");
  collective.tag = 0;
  EXPECT_EQ(to_string(collective), "send f32[4] to rank 1");
  collective.kind = OperationKind::recv;
  collective.peer = any_rank;
  EXPECT_EQ(to_string(collective), "recv f32[4] from any rank");
  collective.tag = any_tag;
  EXPECT_EQ(to_string(collective), "recv f32[4] from any rank any tag");
}

TEST(Collective, TextOfOthersCountsWhatTheyCarry) {
  Collective collective = some_collective(OperationKind::barrier);
  collective.sequence_number = 2;
  EXPECT_EQ(to_string(collective), "barrier #2");
  collective.kind = OperationKind::broadcast_objects;
  collective.peer = 0;
  EXPECT_EQ(to_string(collective), "broadcast_objects #2 4 objects from rank 0");
  collective.count = 1;
  EXPECT_EQ(to_string(collective), "broadcast_objects #2 1 object from rank 0");
  collective.kind = OperationKind::create_gang;
  EXPECT_EQ(to_string(collective), "create_gang #2 of 1 rank");
  collective.kind = OperationKind::batch;
  collective.count = 3;
  EXPECT_EQ(to_string(collective), "batch of 3 operations");
  collective.kind = OperationKind::split;
  EXPECT_EQ(to_string(collective), "split #2");
}

TEST(Collective, TextEndsWithTheLabelInQuotes) {
  Collective collective = some_collective(OperationKind::barrier);
  collective.label = "step 3";
  EXPECT_EQ(to_string(collective), "barrier #0 \"step 3\"");
}

TEST(Collective, EveryKindHasATextThatBeginsWithItsName) {
  for (const OperationKind kind : all_operation_kinds)
    EXPECT_EQ(to_string(some_collective(kind)).find(to_string(kind)), 0u) << to_string(kind);
}

TEST(Collective, IsAValue) {
  const Collective collective = some_collective(OperationKind::all_gather);
  Collective other = collective;
  EXPECT_EQ(other, collective);
  other.detail = 1;
  EXPECT_NE(other, collective);
}

}  // namespace
}  // namespace gang
