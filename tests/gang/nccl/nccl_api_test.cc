#include "gang/nccl/nccl_api.h"

#include <set>

#include <gtest/gtest.h>

namespace gang {
namespace {

TEST(NcclStatus, HasADistinctTextForEachValue) {
  std::set<std::string_view> texts;
  for (auto status = NcclStatus::success; status <= NcclStatus::in_progress;
       status = static_cast<NcclStatus>(static_cast<int>(status) + 1))
    texts.insert(to_string(status));
  EXPECT_EQ(texts.size(), 8U);
  EXPECT_FALSE(texts.contains(""));
}

}  // namespace
}  // namespace gang
