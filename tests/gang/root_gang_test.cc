#include "gang/root_gang.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/gang/capturing_gang.h"
#include "tests/gang/store/temporary_folder.h"

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

TEST(SetupRootGang, ATimeoutOfZeroIsRefusedForOneProcessOfAJobToo) {
  const Environment alone{.rank = 0, .world_size = 1};
  EXPECT_THROW(setup_root_gang(alone, {.timeout = Duration(0)}), InvalidArgument);
}

TEST(SetupRootGang, ItsOptionsDecideWhereARankRecords) {
  const TemporaryFolder folder;
  Environment environment{.rank = 1, .world_size = 2};
  environment.record_folder = folder.file("environment");
  environment.master_address = "127.0.0.1";
  environment.master_port = 1;  // where nobody is
  const RootGangOptions options{.timeout = std::chrono::milliseconds(50),
                                .record_folder = folder.file("options")};
  EXPECT_THROW(setup_root_gang(environment, options), Error);
  EXPECT_TRUE(std::filesystem::exists(folder.file("options/nccl_trace_rank_1")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("environment")));
}

}  // namespace
}  // namespace gang
