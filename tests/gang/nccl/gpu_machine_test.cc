#include "gang/nccl/gpu_machine.h"

#include <gtest/gtest.h>

namespace gang {
namespace {

TEST(GpuMachine, LacksADriverOrANewerOneOrAGpu) {
  EXPECT_EQ(problem_of({.runtime_version = 13000}), "no CUDA driver on this machine (CUDA 13.0)");
  EXPECT_EQ(problem_of({.driver_version = 12080, .runtime_version = 13000, .has_gpu = true}),
            "the driver is for CUDA 12.8 at most, CUDA 13.0 is needed");
  EXPECT_EQ(problem_of({.driver_version = 13000, .runtime_version = 13000}),
            "a CUDA driver, but no GPU (no /dev/nvidia0)");
}

TEST(GpuMachine, DoesWithADriverOfItsMajorVersion) {
  EXPECT_EQ(problem_of({.driver_version = 13000, .runtime_version = 13020, .has_gpu = true}), "");
  EXPECT_EQ(problem_of({.driver_version = 14010, .runtime_version = 13000, .has_gpu = true}), "");
}

}  // namespace
}  // namespace gang
