#include "sim/schedule/context_name.h"

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

// Two ranks; rank 1 starts two loaders, the first of which starts a context of its own, and rank 0
// one loader.
StepLog log_of_loaders() {
  StepLog log;
  log.names = {"", "", "loader", "loader", "", "loader"};
  log.names[4] = "reader";
  log.parents = {no_task, no_task, 1, 1, 2, 0};
  return log;
}

std::string name_of(TaskId task) { return to_string(context_name(log_of_loaders(), task)); }

TEST(ContextName, IsThatOfItsRankAndItsOwn) {
  EXPECT_EQ(name_of(0), "0");
  EXPECT_EQ(name_of(1), "1");
  EXPECT_EQ(name_of(2), "1/loader");
  EXPECT_EQ(name_of(4), "1/reader") << "started by a context of rank 1";
}

TEST(ContextName, CountsThoseOfTheSameNameOnTheRank) {
  EXPECT_EQ(name_of(3), "1/loader 2");
  EXPECT_EQ(name_of(5), "0/loader") << "the first one of rank 0";
  EXPECT_EQ(context_name(log_of_loaders(), 3).number, 2U);
}

}  // namespace
}  // namespace gang::sim
