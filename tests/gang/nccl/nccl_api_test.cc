#include "gang/nccl/nccl_api.h"

#include <gtest/gtest.h>

namespace gang {
namespace {

TEST(NcclStatus, HasTheWordsOfNccl) {
  using enum NcclStatus;
  EXPECT_EQ(to_string(success), "success");
  EXPECT_EQ(to_string(cuda_error), "unhandled CUDA error");
  EXPECT_EQ(to_string(system_error), "system error");
  EXPECT_EQ(to_string(internal_error), "internal error");
  EXPECT_EQ(to_string(invalid_argument), "invalid argument");
  EXPECT_EQ(to_string(invalid_usage), "invalid usage");
  EXPECT_EQ(to_string(remote_error), "remote error");
  EXPECT_EQ(to_string(in_progress), "in progress");
}

TEST(NcclError, KeepsItsStatusAndItsText) {
  const NcclError error(NcclStatus::remote_error, "rank 3 is gone");
  EXPECT_EQ(error.status(), NcclStatus::remote_error);
  EXPECT_STREQ(error.what(), "rank 3 is gone");
}

}  // namespace
}  // namespace gang
