// What is wrong in each is in faulty_programs, a property: here, larger worlds and the words.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(MissingParticipants, AreFoundInLargerWorlds) {
  expect_alike_in_larger_worlds(missing_participants());
}

TEST(MissingParticipants, ARankThatStopsEarlyIsNamed) {
  EXPECT_THAT(message_of(missing_participants(), "missing_rank"),
              testing::HasSubstr("Rank 2 never called all_reduce #3"));
}

}  // namespace
}  // namespace gang::harness
