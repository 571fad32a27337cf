// The property faulty_programs checks every finding; this checks larger worlds and the wording.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(RankContexts, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(rank_contexts); }

TEST(RankContexts, TheRankIsNamed) {
  EXPECT_THAT(message_of(rank_contexts, "exhausted_loader"),
              testing::HasSubstr("Rank 2 waits for calls that no rank will make"));
}

}  // namespace
}  // namespace gang::harness
