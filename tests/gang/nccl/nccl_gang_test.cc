#include "gang/nccl/nccl_gang.h"

#include <gtest/gtest.h>

#include "tests/gang/recording_gang.h"

namespace gang {
namespace {

TEST(NcclGang, SaysWhetherItIsAvailableAndElseWhy) {
  const BackendAvailability availability = nccl_availability();
  EXPECT_EQ(availability.is_available, availability.reason.empty());
  if (!availability.is_available) {
    EXPECT_EQ(availability.reason,
              "nccl is not built into this version; accepted are fake and simulated gangs");
  }
}

TEST(NcclGang, WhereItIsUnavailableARootGangIsNotSupported) {
  if (nccl_availability().is_available) GTEST_SKIP() << "runs where nccl is not built";
  EXPECT_EQ(
      test::message_of<NotSupported>([] { make_nccl_root_gang({.rank = 0, .world_size = 2}, {}); }),
      "a gang of 2 processes on cuda needs nccl: " + nccl_availability().reason);
}

}  // namespace
}  // namespace gang
