#include "gang/nccl/nccl_gang.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/nccl/real_nccl_api.h"
#include "tests/gang/capturing_gang.h"
#include "tests/gang/nccl/recording_nccl.h"

namespace gang {
namespace {

TEST(NcclGang, SaysWhetherItIsAvailableOrWhyNot) {
  const BackendAvailability availability = nccl_availability();
  EXPECT_EQ(availability.is_available, availability.reason.empty());
  EXPECT_EQ(availability.is_available, gpu_count() > 0);
}

TEST(NcclGang, ARootGangIsNotSupportedIfItIsUnavailable) {
  if (nccl_availability().is_available) GTEST_SKIP() << "runs where there is no GPU";
  EXPECT_EQ(
      test::message_of<NotSupported>([] { make_nccl_root_gang({.rank = 0, .world_size = 2}, {}); }),
      "a gang of 2 processes on cuda needs nccl: " + nccl_availability().reason);
}

// All tensors must be on the gang's device; otherwise nothing is launched.
TEST(NcclGang, TensorsOnAnotherDeviceAreRefused) {
  test::RecordedGang recorded(2, NcclTensors::on_device);
  std::vector<float> memory(8);
  const auto on = [&memory](Device device) {
    return TensorView(memory.data(), DataType::f32, Shape::vector(4), device);
  };
  const Device here{DeviceType::cuda, 0};
  EXPECT_THAT(test::message_of<InvalidArgument>([&] {
                recorded.gang->all_reduce(on({DeviceType::cpu, 0}), ReduceOperation::sum);
              }),
              testing::HasSubstr("is on cpu; must be on cuda:0"));
  EXPECT_THAT(test::message_of<InvalidArgument>([&] {
                recorded.gang->all_reduce(on({DeviceType::cuda, 1}), ReduceOperation::sum);
              }),
              testing::HasSubstr("is on cuda:1; must be on cuda:0"));
  EXPECT_THAT(test::message_of<InvalidArgument>([&] {
                recorded.gang->all_reduce(on(here), on({DeviceType::cpu, 0}), ReduceOperation::sum);
              }),
              testing::HasSubstr("is on cpu; must be on cuda:0"));
  EXPECT_TRUE(recorded.nccl->log.empty());
  recorded.gang->all_reduce(on(here), ReduceOperation::sum);
  EXPECT_FALSE(recorded.nccl->log.empty());
}

TEST(NcclGang, MessagesHaveNumbersOfTheirOwn) {
  test::RecordedGang recorded;
  float value = 0;
  recorded.gang->send(view_of(value), 1);
  recorded.nccl->log.clear();
  recorded.nccl->others[1] = "gang 0,";
  recorded.gang->create_gang(std::vector{0});
  EXPECT_THAT(recorded.nccl->log, testing::Contains("meet root#0"));
}

TEST(NcclGang, ARankThatDoesNotSendItselfWhatItExpectsIsAMismatch) {
  test::RecordedGang recorded;
  std::vector<float> output(3);
  std::vector<float> input(3);
  const std::vector<std::int64_t> to = {1, 2};
  const std::vector<std::int64_t> from = {2, 1};
  try {
    recorded.gang->all_to_all(view(output), view(input), {.output = from, .input = to});
    ADD_FAILURE() << "launched";
  } catch (const GangError& error) {
    EXPECT_EQ(error.kind(), GangErrorKind::mismatch);
    EXPECT_EQ(error.ranks_at_fault(), std::vector<int>{0});
  }
}

}  // namespace
}  // namespace gang
