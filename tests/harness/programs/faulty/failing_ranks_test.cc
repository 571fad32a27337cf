// The property faulty_programs checks every finding; this checks larger worlds and the wording.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(FailingRanks, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(failing_ranks); }

TEST(FailingRanks, ARankThatArrivesTooLateIsNamed) {
  EXPECT_THAT(message_of(failing_ranks, "tokenize_on_rank_0"),
              testing::HasSubstr("timed out after 15 min: rank 0 did not come"));
}

}  // namespace
}  // namespace gang::harness
