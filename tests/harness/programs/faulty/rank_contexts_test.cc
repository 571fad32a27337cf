// What is wrong in each is in faulty_programs, a property: here, larger worlds and the words.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(RankContexts, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(rank_contexts()); }

TEST(RankContexts, TheRankIsNamed) {
  EXPECT_THAT(message_of(rank_contexts(), "exhausted_loader"),
              testing::HasSubstr("Rank 2 waits for what nobody will do"));
}

}  // namespace
}  // namespace gang::harness
