// The property faulty_programs checks every finding; this checks larger worlds and the wording.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(GangOrder, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(gang_order); }

TEST(GangOrder, BothOrdersAreNamed) {
  EXPECT_THAT(message_of(gang_order, "dp_and_tp"),
              testing::HasSubstr("before tp; ranks 1-2 called tp"));
}

}  // namespace
}  // namespace gang::harness
