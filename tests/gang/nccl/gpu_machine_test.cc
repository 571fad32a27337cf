#include "gang/nccl/gpu_machine.h"

#include <gtest/gtest.h>

namespace gang {
namespace {

TEST(GpuMachine, LacksADriverOrANewerOneOrAGpu) {
  EXPECT_EQ(problem_of(GpuMachine{.runtime_version = 13000}),
            "no CUDA driver on this machine (for CUDA 13.0)");
  EXPECT_EQ(
      problem_of(GpuMachine{.driver_version = 12080, .runtime_version = 13000, .has_gpu = true}),
      "the driver supports CUDA 12.8 at most; CUDA 13.0 is needed");
  EXPECT_EQ(problem_of(GpuMachine{.driver_version = 13000, .runtime_version = 13000}),
            "there is a CUDA driver, but no GPU (no /dev/nvidia0)");
}

TEST(GpuMachine, ADriverOfTheSameMajorVersionSuffices) {
  EXPECT_EQ(
      problem_of(GpuMachine{.driver_version = 13000, .runtime_version = 13020, .has_gpu = true}),
      "");
  EXPECT_EQ(
      problem_of(GpuMachine{.driver_version = 14010, .runtime_version = 13000, .has_gpu = true}),
      "");
}

TEST(GpuShare, NeedsAGpuForEachRankUnlessTheyShare) {
  EXPECT_EQ(problem_of(GpuShare{.ranks = 1}), "CUDA finds no usable GPU here");
  EXPECT_EQ(problem_of(GpuShare{.ranks = 4, .gpus = 2}),
            "4 ranks need a GPU each, but there are 2; use fewer ranks, or set "
            "GANGSIM_SHARE_GPUS=1 to let several ranks share a GPU over loopback sockets");
  EXPECT_EQ(problem_of(GpuShare{.ranks = 2, .gpus = 2}), "");
  EXPECT_EQ(problem_of(GpuShare{.ranks = 4, .gpus = 1, .is_shared = true}), "");
}

}  // namespace
}  // namespace gang
