#include "harness/rapidcheck_support.h"

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

TEST(CheckHolds, PassesAPropertyThatHolds) {
  EXPECT_TRUE(rc::check("the sum of the ranks is the same everywhere", [] {
    const int world_size = *rc::gen::inRange(1, 9);
    check_holds({.world_size = world_size}, [world_size](Rank& rank) {
      std::int32_t sum = rank.rank();
      rank.root()->all_reduce(view_of(sum), ReduceOperation::sum);
      if (sum != world_size * (world_size - 1) / 2) rank.wrong_result("The sum is wrong.");
    });
  }));
}

TEST(CheckHolds, FailsACaseWhoseRunHasAFinding) {
  EXPECT_FALSE(rc::check("rank 5 does not take part", [] {
    const int world_size = *rc::gen::inRange(1, 9);
    check_holds({.world_size = world_size}, [](Rank& rank) {
      if (rank.rank() != 5) rank.root()->barrier();
    });
  }));
}

}  // namespace
}  // namespace gang::harness
