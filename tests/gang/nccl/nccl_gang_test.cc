#include "gang/nccl/nccl_gang.h"

#include <gtest/gtest.h>

#include "gang/nccl/real_nccl_api.h"
#include "tests/gang/recording_gang.h"

namespace gang {
namespace {

TEST(NcclGang, SaysWhetherItIsAvailableAndElseWhy) {
  const BackendAvailability availability = nccl_availability();
  EXPECT_EQ(availability.is_available, availability.reason.empty());
  EXPECT_EQ(availability.is_available, gpu_count() > 0);
}

TEST(NcclGang, WhereItIsUnavailableARootGangIsNotSupported) {
  if (nccl_availability().is_available) GTEST_SKIP() << "runs where there is no GPU";
  EXPECT_EQ(
      test::message_of<NotSupported>([] { make_nccl_root_gang({.rank = 0, .world_size = 2}, {}); }),
      "a gang of 2 processes on cuda needs nccl: " + nccl_availability().reason);
}

}  // namespace
}  // namespace gang
