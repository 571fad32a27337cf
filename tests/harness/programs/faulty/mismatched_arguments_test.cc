// The property faulty_programs checks every finding; this checks larger worlds and the wording.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(MismatchedArguments, AreFoundInLargerWorlds) {
  expect_alike_in_larger_worlds(mismatched_arguments);
}

TEST(MismatchedArguments, TheFieldThatDiffersIsNamed) {
  EXPECT_THAT(message_of(mismatched_arguments, "broadcast_from_self"),
              testing::HasSubstr("They differ in the root"));
}

}  // namespace
}  // namespace gang::harness
