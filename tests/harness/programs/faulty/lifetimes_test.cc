// What is wrong in each is in faulty_programs, a property: here, larger worlds and the words.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(Lifetimes, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(lifetimes()); }

TEST(Lifetimes, TheCallOnAClosedGangIsNamed) {
  EXPECT_THAT(message_of(lifetimes(), "closed_before_use"),
              testing::HasSubstr("the gang is closed"));
}

}  // namespace
}  // namespace gang::harness
