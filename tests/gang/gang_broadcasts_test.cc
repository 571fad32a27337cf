// How broadcasts and barriers reach a backend, and which calls never do.
#include <array>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/object.h"
#include "tests/gang/capturing_gang.h"

namespace gang {
namespace {

using test::CapturingGang;
using std::chrono_literals::operator""ms;

TEST(GangBroadcast, IsInPlaceFromItsSource) {
  CapturingGang gang(4, 2);
  std::array<std::int64_t, 3> values{};
  gang.broadcast(view(values), 1);
  EXPECT_EQ(to_string(gang.only().collective()), "broadcast #0 i64[3] from rank 1");
  EXPECT_EQ(gang.only().operation.input.data(), gang.only().operation.output.data());
}

TEST(GangBroadcast, TheSourceIsRankZeroUnlessGiven) {
  CapturingGang gang(4, 2);
  float value = 0;
  gang.broadcast(view_of(value));
  EXPECT_EQ(gang.only().collective().peer, 0);
}

// fairseq2's B3: on the column [1,3,5,7] the default source was refused, 1 meant a different rank,
// and the illegal 5 was accepted.
TEST(GangBroadcast, TheSourceIsARankOfThisGangNotOfTheRoot) {
  auto info = std::make_shared<GangInfo>(*test::make_info(4, "dp"));
  info->root_ranks = {1, 3, 5, 7};
  CapturingGang gang(info, 0);
  float value = 0;
  for (int rank = 0; rank < 4; ++rank) {
    gang.broadcast(view_of(value), rank);
    EXPECT_EQ(gang.sent.back().collective().peer, rank);
  }
  EXPECT_EQ(test::message_of<InvalidArgument>([&] { gang.broadcast(view_of(value), 5); }),
            "broadcast on dp[1,3,5,7]: source_rank is 5; must be 0 to 3");
  EXPECT_EQ(gang.sent.size(), 4u);
}

TEST(GangBroadcast, StartedFormsAreDescribedTheSameWay) {
  CapturingGang gang;
  float value = 0;
  Work work = gang.start_broadcast(view_of(value), 3);
  gang.broadcast(view_of(value), 3);
  EXPECT_EQ(to_string(gang.sent[0].collective()), to_string(gang.sent[1].collective()));
  EXPECT_FALSE(gang.sent[0].collective().blocking);
  EXPECT_THROW(gang.start_broadcast(view_of(value), 4), InvalidArgument);
}

TEST(GangBroadcastObjects, TheSourceSendsPackedBytesAndKeepsItsObjects) {
  CapturingGang gang(4, 2);
  std::vector<Object> objects = {1, "two", {{"three", 3}}};
  const std::vector<Object> before = objects;
  std::vector<Object> packed;
  gang.reaction = [&packed](Operation& operation) {
    packed = unpack_objects(*operation.extras->packed);
  };
  gang.broadcast_objects(objects, 2);
  EXPECT_EQ(packed, before);
  EXPECT_EQ(objects, before);
  EXPECT_EQ(to_string(gang.only().collective()), "broadcast_objects #0 3 objects from rank 2");
  EXPECT_EQ(gang.only().collective().data_type, DataType::u8);
}

TEST(GangBroadcastObjects, OthersGetTheObjectsInPlace) {
  CapturingGang gang(4, 2);
  const std::vector<Object> sent = {"new", 1.5};
  gang.reaction = [&sent](Operation& operation) {
    EXPECT_TRUE(operation.extras->packed->empty());
    *operation.extras->packed = pack_objects(sent);
  };
  std::vector<Object> objects(2, "old");
  gang.broadcast_objects(objects);
  EXPECT_EQ(objects, sent);
}

TEST(GangBroadcastObjects, ObjectsStayIfTheBackendSaysThatTheyAreEqual) {
  CapturingGang gang(4, 2);
  std::vector<Object> objects = {"mine"};
  gang.broadcast_objects(objects);
  EXPECT_EQ(objects, std::vector<Object>{"mine"});
}

TEST(GangBroadcastObjects, ADifferentNumberOfObjectsIsAMismatchOfTheSource) {
  CapturingGang gang(4, 2);
  gang.reaction = [](Operation& operation) {
    *operation.extras->packed = pack_objects(std::vector<Object>{1, 2, 3});
  };
  std::vector<Object> objects(2, "old");
  try {
    gang.broadcast_objects(objects, 1);
    FAIL() << "3 objects were taken for 2";
  } catch (const GangError& error) {
    EXPECT_EQ(error.kind(), GangErrorKind::mismatch);
    EXPECT_EQ(error.ranks_at_fault(), std::vector<int>{1});
  }
  EXPECT_EQ(objects, std::vector<Object>(2, "old"));
}

TEST(GangBroadcastObjects, DamagedBytesAreCorrupt) {
  CapturingGang gang(4, 2);
  gang.reaction = [](Operation& operation) {
    operation.extras->packed->push_back(std::byte{0xc1});
  };
  std::vector<Object> objects(1);
  try {
    gang.broadcast_objects(objects);
    FAIL() << "damaged bytes were taken";
  } catch (const GangError& error) {
    EXPECT_EQ(error.kind(), GangErrorKind::corrupt);
  }
}

TEST(GangBroadcastObjects, SourcesOutsideTheGangAreRefused) {
  CapturingGang gang;
  std::vector<Object> objects(1);
  EXPECT_THROW(gang.broadcast_objects(objects, 4), InvalidArgument);
  EXPECT_THROW(gang.broadcast_objects(objects, -1), InvalidArgument);
  EXPECT_TRUE(gang.sent.empty());
}

TEST(GangBarrier, CarriesNoTensor) {
  CapturingGang gang;
  gang.barrier();
  EXPECT_EQ(to_string(gang.only().collective()), "barrier #0");
  EXPECT_EQ(gang.only().collective().count, 0);
}

TEST(GangMonitoredBarrier, HasItsOwnTimeout) {
  CapturingGang gang;
  gang.monitored_barrier(20ms, Gang::MissingRanks::first, {.timeout = no_timeout});
  EXPECT_EQ(gang.only().operation.timeout, Duration(20ms));
  EXPECT_EQ(gang.only().collective().kind, OperationKind::monitored_barrier);
  EXPECT_THROW(gang.monitored_barrier(0ms), InvalidArgument);
  EXPECT_THROW(gang.monitored_barrier(-1ms), InvalidArgument);
  EXPECT_EQ(gang.sent.size(), 1u);
}

TEST(GangMonitoredBarrier, NamesTheFirstMissingRankOrAll) {
  CapturingGang gang;
  gang.monitored_barrier(20ms);
  gang.monitored_barrier(20ms, Gang::MissingRanks::all);
  EXPECT_FALSE(gang.sent[0].extras.wait_all_ranks);
  EXPECT_TRUE(gang.sent[1].extras.wait_all_ranks);
}

}  // namespace
}  // namespace gang
