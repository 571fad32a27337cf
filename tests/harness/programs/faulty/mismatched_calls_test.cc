// The property faulty_programs checks every finding; this checks larger worlds and the wording.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(MismatchedCalls, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(mismatched_calls); }

TEST(MismatchedCalls, TheOperationsAreNamedSideBySide) {
  EXPECT_THAT(message_of(mismatched_calls, "reduce_to_one"),
              testing::HasSubstr("They differ in the operation"));
}

}  // namespace
}  // namespace gang::harness
