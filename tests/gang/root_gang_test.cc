#include "gang/root_gang.h"

#include <gtest/gtest.h>

#include "tests/gang/recording_gang.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;

TEST(SetupRootGang, WithoutAnEnvironmentItIsAFakeGangOfOne) {
  const auto gang = setup_root_gang(std::nullopt, {.device = {DeviceType::cuda, 2}, .timeout = 3s});
  EXPECT_EQ(gang->size(), 1);
  EXPECT_EQ(gang->rank(), 0);
  EXPECT_EQ(gang->name(), "root");
  EXPECT_EQ(gang->info().backend, "fake");
  EXPECT_EQ(gang->device(), (Device{DeviceType::cuda, 2}));
  EXPECT_EQ(gang->timeout(), Duration(3s));
}

TEST(SetupRootGang, WithOneItIsGlooOnCpuAndNcclOnCuda) {
  const Environment environment{.rank = 0, .world_size = 2};
  if (gloo_availability().is_available || nccl_availability().is_available)
    GTEST_SKIP() << "runs where neither gloo nor nccl is built, since ranks would have to meet";
  EXPECT_NE(test::message_of<NotSupported>([&] { setup_root_gang(environment); }).find("gloo"),
            std::string::npos);
  EXPECT_NE(test::message_of<NotSupported>([&] {
              setup_root_gang(environment, {.device = {DeviceType::cuda, 0}});
            }).find("nccl"),
            std::string::npos);
}

TEST(SetupRootGang, BadOptionsAreRefused) {
  EXPECT_THROW(setup_root_gang(std::nullopt, {.timeout = Duration(0)}), InvalidArgument);
  EXPECT_THROW(setup_root_gang(std::nullopt, {.record_folder = "/proc/nowhere"}), InvalidArgument);
  EXPECT_THROW(setup_root_gang(std::nullopt, {.device = {DeviceType::cuda, -1}}), InvalidArgument);
}

TEST(SetupRootGang, PriorityAndMonitoringMeanNothingToAFakeGang) {
  const auto gang = setup_root_gang(std::nullopt, {.monitored = Monitoring::before_every_operation,
                                                   .priority = StreamPriority::high});
  gang->barrier();
}

}  // namespace
}  // namespace gang
