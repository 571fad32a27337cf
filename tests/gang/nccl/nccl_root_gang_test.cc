#include <gtest/gtest.h>

#include "gang/nccl/nccl_gang.h"
#include "gang/nccl/real_nccl_api.h"

namespace gang {
namespace {

TEST(NcclRootGang, OfOneProcessHasTheGpuToItself) {
  if (gpu_count() == 0) GTEST_SKIP() << "runs where there is a GPU: " << nccl_availability().reason;
  const auto root =
      make_nccl_root_gang({.rank = 0, .world_size = 1}, {.device = {DeviceType::cuda, 0}});
  root->barrier();
  EXPECT_EQ(root->device(), (Device{DeviceType::cuda, 0}));
}

TEST(NcclRootGang, OfAMissingGpuIsNotSupported) {
  EXPECT_THROW(
      make_nccl_root_gang({.rank = 0, .world_size = 1}, {.device = {DeviceType::cuda, 999}}),
      NotSupported);
}

}  // namespace
}  // namespace gang
