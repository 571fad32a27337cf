// What is wrong in each is in faulty_programs, a property: here, larger worlds and the words.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(StartedWork, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(started_work()); }

TEST(StartedWork, TheForgottenWorkIsNamed) {
  EXPECT_THAT(message_of(started_work(), "forgotten_wait"),
              testing::HasSubstr("Rank 1 dropped all_reduce #2"));
}

}  // namespace
}  // namespace gang::harness
