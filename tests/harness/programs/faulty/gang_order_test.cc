// What is wrong in each is in faulty_programs, a property: here, larger worlds and the words.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(GangOrder, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(gang_order()); }

TEST(GangOrder, BothOrdersAreNamed) {
  EXPECT_THAT(message_of(gang_order(), "dp_and_tp"),
              testing::HasSubstr("before tp; ranks 1-2 called tp"));
}

}  // namespace
}  // namespace gang::harness
