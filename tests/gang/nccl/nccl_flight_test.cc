#include "gang/nccl/nccl_flight.h"

#include <memory>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gang/nccl/recording_nccl.h"

namespace gang {
namespace {

TEST(NcclFlight, CopiesTheResultsOfTheDeviceBack) {
  test::RecordedFlight recorded;
  NcclFlight& flight = *recorded.flight;
  flight.copy_back();
  EXPECT_EQ(recorded.result[2], std::byte{7});
  recorded.result[2] = {};
  flight.forget_tensors();
  flight.copy_back();
  EXPECT_EQ(recorded.result[2], std::byte{0});
  EXPECT_EQ(flight.deadline() - flight.began(), std::chrono::seconds(1));
}

TEST(NcclFlight, MemoryThatMayStillBeInUseStaysWithTheMember) {
  const test::RecordedFlight recorded;
  auto info = std::make_shared<GangInfo>();
  info->root_ranks = {0};
  const auto member = make_root_member({.info = info, .key = "other"}, recorded.device);
  auto flight = std::make_shared<NcclFlight>(recorded.device, member, Operation());
  const std::byte* const used = flight->scratch(NcclMemory::device, 4096);
  flight->leave_memory();
  flight.reset();
  EXPECT_NE(recorded.device->pool().take_buffer(NcclMemory::device, 4096)->data(), used);
}

TEST(NcclFlight, BorrowsNoLabel) {
  const test::RecordedFlight recorded;
  auto info = std::make_shared<GangInfo>();
  info->root_ranks = {0};
  const auto member = make_root_member({.info = info, .key = "other"}, recorded.device);
  Operation labelled;
  labelled.collective.label = "step 3";
  EXPECT_EQ(NcclFlight(recorded.device, member, labelled).purpose().call.label, "");
}

TEST(NcclFlight, WhenAnExceptionLeavesTheProgramTheOthersAreTold) {
  test::RecordedGang recorded;
  recorded.nccl->holds_events = true;
  try {
    const Work work = recorded.gang->start_barrier();
    throw std::runtime_error("leaves the program");
  } catch (const std::runtime_error&) {
  }
  EXPECT_THAT(recorded.nccl->log, testing::Contains("note root"));
  EXPECT_THAT(recorded.nccl->note, testing::HasSubstr("rank 0 gave up"));
}

}  // namespace
}  // namespace gang
