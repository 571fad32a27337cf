// The property faulty_programs checks every finding; this checks larger worlds and the wording.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(Lifetimes, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(lifetimes); }

TEST(Lifetimes, TheCallOnAClosedGangIsNamed) {
  EXPECT_THAT(message_of(lifetimes, "closed_before_use"), testing::HasSubstr("the gang is closed"));
}

}  // namespace
}  // namespace gang::harness
