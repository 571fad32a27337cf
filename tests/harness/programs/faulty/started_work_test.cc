// The property faulty_programs checks every finding; this checks larger worlds and the wording.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(StartedWork, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(started_work); }

TEST(StartedWork, TheForgottenWorkIsNamed) {
  EXPECT_THAT(message_of(started_work, "forgotten_wait"),
              testing::HasSubstr("Rank 1 dropped all_reduce #2"));
}

}  // namespace
}  // namespace gang::harness
