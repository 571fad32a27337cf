// The property faulty_programs checks every finding; this checks larger worlds and the wording.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(GroupCreation, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(group_creation); }

TEST(GroupCreation, TheRankThatCreatesItsGangsInAnotherOrderIsNamed) {
  EXPECT_THAT(message_of(group_creation, "tp_before_dp"),
              testing::HasSubstr("Rank 1 called create_gang"));
}

}  // namespace
}  // namespace gang::harness
