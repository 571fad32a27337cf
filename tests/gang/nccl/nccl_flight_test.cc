#include "gang/nccl/nccl_flight.h"

#include <gtest/gtest.h>

#include "gang/nccl/nccl_device.h"
#include "gang/nccl/nccl_groups.h"
#include "tests/gang/nccl/recording_nccl.h"

namespace gang {
namespace {

TEST(NcclFlight, CopiesBackWhatTheDeviceHasLeft) {
  const auto nccl = std::make_shared<test::RecordingNccl>();
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const auto device = std::make_shared<NcclDevice>(NcclWorld{nccl, nccl, runtime});
  auto info = std::make_shared<GangInfo>();
  info->root_ranks = {0};
  const auto member = make_root_member({.info = info, .key = "root"}, device);
  Operation operation;
  operation.timeout = std::chrono::seconds(1);
  NcclFlight flight(device, member, operation);
  std::byte* const pinned = flight.scratch(NcclMemory::pinned, 4);
  pinned[2] = std::byte{7};
  std::byte result[4] = {};
  flight.add_copy_back({result, pinned, 4});
  flight.copy_back();
  EXPECT_EQ(result[2], std::byte{7});
  result[2] = {};
  flight.forget_tensors();
  flight.copy_back();
  EXPECT_EQ(result[2], std::byte{0});
  EXPECT_EQ(flight.deadline() - flight.began(), std::chrono::seconds(1));
}

}  // namespace
}  // namespace gang
