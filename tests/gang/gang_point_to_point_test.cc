// How sends, receives and batches reach a backend, and which calls never do.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gang/capturing_gang.h"
#include "tests/gang/scripted_work.h"

namespace gang {
namespace {

using test::CapturingGang;

class GangPointToPoint : public testing::Test {
 protected:
  std::array<float, 4> memory_{};
  const TensorView tensor_ = view(memory_);
  CapturingGang gang_{4, 2};
};

TEST_F(GangPointToPoint, ASendHasAnInputADestinationAndATag) {
  gang_.send(tensor_, 1, 7);
  EXPECT_EQ(to_string(gang_.only().collective()), "send f32[4] to rank 1 tag 7");
  EXPECT_EQ(gang_.only().operation.input.data(), tensor_.data());
  EXPECT_EQ(gang_.only().operation.output.count(), 0);
}

TEST_F(GangPointToPoint, AReceiveHasAnOutputASourceAndATag) {
  gang_.recv(tensor_, 3, 7);
  EXPECT_EQ(to_string(gang_.only().collective()), "recv f32[4] from rank 3 tag 7");
  EXPECT_EQ(gang_.only().operation.output.data(), tensor_.data());
  EXPECT_EQ(gang_.only().operation.input.count(), 0);
}

TEST_F(GangPointToPoint, AReceiveMayLeaveSourceAndTagOpen) {
  gang_.recv(tensor_);
  gang_.recv(tensor_, any_rank, any_tag);
  EXPECT_EQ(gang_.sent[0].collective().peer, any_rank);
  EXPECT_EQ(gang_.sent[0].collective().tag, 0);
  EXPECT_EQ(gang_.sent[1].collective().tag, any_tag);
}

TEST_F(GangPointToPoint, AReceiveReturnsItsSource) {
  const auto state = test::pending_work();
  state->got = {.source_rank = 3, .tag = 9};
  gang_.work = state;
  const Received received = gang_.recv(tensor_, any_rank, any_tag);
  EXPECT_EQ(received.source_rank, 3);
  EXPECT_EQ(received.tag, 9);
}

TEST_F(GangPointToPoint, ARankMaySendToItself) {
  gang_.send(tensor_, 2);
  EXPECT_EQ(gang_.sent.size(), 1u);
}

TEST_F(GangPointToPoint, RanksAndTagsOutOfRangeAreRefused) {
  for (const int rank : {-1, -2, 4}) {
    EXPECT_THROW(gang_.send(tensor_, rank), InvalidArgument) << rank;
    EXPECT_THROW(gang_.start_send(tensor_, rank), InvalidArgument) << rank;
  }
  for (const int rank : {-2, 4}) EXPECT_THROW(gang_.recv(tensor_, rank), InvalidArgument) << rank;
  EXPECT_THROW(gang_.send(tensor_, 1, any_tag), InvalidArgument);
  EXPECT_THROW(gang_.send(tensor_, 1, -5), InvalidArgument);
  EXPECT_THROW(gang_.recv(tensor_, 1, -5), InvalidArgument);
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(GangPointToPoint, RefusalsSayWhatWouldBeRight) {
  EXPECT_EQ(test::message_of<InvalidArgument>([&] { gang_.recv(tensor_, 4); }),
            "recv on root[0-3]: source_rank is 4; must be 0 to 3, or any_rank");
  EXPECT_EQ(test::message_of<InvalidArgument>([&] { gang_.send(tensor_, 1, -1); }),
            "send on root[0-3]: tag is -1; must be 0 or more");
  EXPECT_EQ(test::message_of<InvalidArgument>([&] { gang_.recv(tensor_, 1, -2); }),
            "recv on root[0-3]: tag is -2; must be 0 or more, or any_tag");
}

TEST_F(GangPointToPoint, ABatchHoldsSendsAndReceives) {
  const std::array<PointToPoint, 2> entries = {
      PointToPoint{OperationKind::send, tensor_.slice(0, 2), 1, 0},
      PointToPoint{OperationKind::recv, tensor_.slice(2, 2), any_rank, any_tag}};
  gang_.batch(entries);
  EXPECT_EQ(to_string(gang_.only().collective()), "batch of 2 operations");
  EXPECT_EQ(gang_.only().extras.batch.data(), entries.data());
}

TEST_F(GangPointToPoint, EveryEntryOfABatchIsChecked) {
  const PointToPoint good{OperationKind::send, tensor_, 1, 0};
  const std::vector<PointToPoint> bad = {
      {OperationKind::barrier, tensor_, 1, 0},
      {OperationKind::send, tensor_, any_rank, 0},
      {OperationKind::send, tensor_, 1, any_tag},
      {OperationKind::recv, tensor_, 4, 0},
      {OperationKind::recv, TensorView(nullptr, DataType::f32, {1}), 1, 0}};
  for (const PointToPoint& entry : bad) {
    const std::array entries = {good, entry};
    EXPECT_THROW(gang_.batch(entries), InvalidArgument);
    EXPECT_THROW(gang_.start_batch(entries), InvalidArgument);
  }
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(GangPointToPoint, AnEmptyBatchIsLegal) {
  gang_.batch({});
  EXPECT_EQ(gang_.only().collective().count, 0);
}

TEST_F(GangPointToPoint, StartedFormsAreDescribedTheSameWay) {
  std::vector<Work> works;
  works.push_back(gang_.start_send(tensor_, 1, 7));
  works.push_back(gang_.start_recv(tensor_, 3, 7));
  works.push_back(gang_.start_batch({}));
  gang_.send(tensor_, 1, 7);
  gang_.recv(tensor_, 3, 7);
  gang_.batch({});
  for (std::size_t i = 0; i < works.size(); ++i) {
    EXPECT_EQ(to_string(gang_.sent[i].collective()),
              to_string(gang_.sent[i + works.size()].collective()));
    EXPECT_FALSE(gang_.sent[i].collective().blocking);
  }
}

TEST_F(GangPointToPoint, TheLeftNeighbourOfRank0IsNoRankAndNotAnyRank) {
  EXPECT_LT(any_rank, -1'000'000'000);
  EXPECT_LT(any_tag, -1'000'000'000);
  EXPECT_THROW(gang_.recv(tensor_, -1), InvalidArgument);
  EXPECT_THROW(gang_.recv(tensor_, 1, -1), InvalidArgument);
  EXPECT_THROW(gang_.send(tensor_, -1), InvalidArgument);
}

}  // namespace
}  // namespace gang
