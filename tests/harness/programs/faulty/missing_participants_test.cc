// The property faulty_programs checks every finding; this checks larger worlds and the wording.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(MissingParticipants, AreFoundInLargerWorlds) {
  expect_alike_in_larger_worlds(missing_participants);
}

TEST(MissingParticipants, ARankThatStopsEarlyIsNamed) {
  EXPECT_THAT(message_of(missing_participants, "missing_rank"),
              testing::HasSubstr("Rank 2 never called all_reduce #3"));
}

}  // namespace
}  // namespace gang::harness
