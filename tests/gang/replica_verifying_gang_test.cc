#include "gang/replica_verifying_gang.h"

#include <array>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/fake_gang.h"
#include "gang/object.h"
#include "tests/gang/capturing_gang.h"

namespace gang {
namespace {

using test::CapturingGang;
using testing::ElementsAre;

// Rank 0 of a gang whose other ranks have these checksums instead of its own.
std::shared_ptr<Gang> gang_with(std::vector<std::uint64_t> changes,
                                const std::shared_ptr<CapturingGang>& inner) {
  inner->reaction = [changes](Operation& operation) {
    if (operation.collective.kind != OperationKind::all_gather) return;
    std::uint64_t own = 0;
    std::memcpy(&own, operation.input.data(), sizeof own);
    for (std::size_t rank = 0; rank < changes.size(); ++rank) {
      const std::uint64_t checksum = own + changes[rank];
      std::memcpy(operation.output.data() + rank * sizeof own, &checksum, sizeof own);
    }
  };
  return make_replica_verifying_gang(inner);
}

std::vector<int> ranks_blamed(std::vector<std::uint64_t> changes) {
  const auto inner = std::make_shared<CapturingGang>(static_cast<int>(changes.size()));
  const auto gang = gang_with(std::move(changes), inner);
  float value = 1;
  try {
    gang->all_reduce(view_of(value), ReduceOperation::sum);
  } catch (const GangError& error) {
    EXPECT_EQ(error.kind(), GangErrorKind::corrupt);
    EXPECT_EQ(inner->aborts, 1);
    return error.ranks_at_fault();
  }
  return {};
}

TEST(ReplicaVerifyingGang, EqualResultsPass) {
  EXPECT_THAT(ranks_blamed({0, 0, 0}), ElementsAre());
}

TEST(ReplicaVerifyingGang, WhoDiffersFromMostIsNamed) {
  EXPECT_THAT(ranks_blamed({0, 5, 0, 0}), ElementsAre(1));
  EXPECT_THAT(ranks_blamed({7, 0, 0}), ElementsAre(0));
}

TEST(ReplicaVerifyingGang, WithoutAMajorityAllAre) {
  EXPECT_THAT(ranks_blamed({0, 5}), ElementsAre(0, 1));
}

TEST(ReplicaVerifyingGang, OnlyWhatLeavesReplicasIsVerified) {
  const auto inner = std::make_shared<CapturingGang>(2);
  const auto gang = gang_with({0, 1}, inner);
  float value = 1;
  gang->barrier();
  gang->reduce(view_of(value), ReduceOperation::sum, 0);
  EXPECT_EQ(inner->sent.size(), 2u);
  EXPECT_THROW(gang->broadcast(view_of(value), 0), GangError);
  EXPECT_EQ(inner->sent.size(), 4u);
}

TEST(ReplicaVerifyingGang, EveryOutputIsVerified) {
  const auto inner = std::make_shared<CapturingGang>(2);
  const auto gang = gang_with({0, 1}, inner);
  std::array<float, 2> values{};
  float value = 1;
  const std::array outputs = {view(values).slice(0, 1), view(values).slice(1, 1)};
  std::vector<Object> objects(1);
  EXPECT_THROW(gang->all_gather_to_list(outputs, view_of(value)), GangError);
  EXPECT_THROW(gang->broadcast_objects(objects), GangError);
}

// The checksum that is exchanged for a list of two outputs with these values.
std::uint64_t checksum_of(float first, float second) {
  std::uint64_t checksum = 0;
  const auto inner = std::make_shared<CapturingGang>(2);
  inner->reaction = [&checksum](Operation& operation) {
    if (operation.collective.kind != OperationKind::all_gather) return;
    std::memcpy(&checksum, operation.input.data(), sizeof checksum);
  };
  const auto gang = make_replica_verifying_gang(inner);
  float own = 0;
  const std::array outputs = {view_of(first), view_of(second)};
  gang->all_gather_to_list(outputs, view_of(own));
  return checksum;
}

TEST(ReplicaVerifyingGang, AChecksumCoversTheWholeList) {
  EXPECT_NE(checksum_of(1, 2), checksum_of(3, 2));
  EXPECT_NE(checksum_of(1, 2), checksum_of(1, 3));
  EXPECT_EQ(checksum_of(1, 2), checksum_of(1, 2));
}

TEST(ReplicaVerifyingGang, GangsMadeFromItVerifyToo) {
  const auto gang = make_replica_verifying_gang(make_fake_gang({.size = 4}));
  const auto child = gang->create_gang(std::vector{0, 1});
  float value = 1;
  child->all_reduce(view_of(value), ReduceOperation::sum);
  EXPECT_EQ(value, 2);
  gang->shrink()->barrier();
}

TEST(ReplicaVerifyingGang, AChildThatDiffersIsFound) {
  const auto inner = std::make_shared<CapturingGang>(2);
  const auto child = std::make_shared<CapturingGang>(2);
  inner->reaction = [&child](Operation& operation) { *operation.extras->created = child; };
  const auto made = make_replica_verifying_gang(inner)->create_gang(std::vector{0, 1});
  const auto differing = gang_with({0, 1}, child);
  float value = 1;
  EXPECT_THROW(made->all_reduce(view_of(value), ReduceOperation::sum), GangError);
}

}  // namespace
}  // namespace gang
