// The property faulty_programs checks every finding; this checks larger worlds and the wording.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(Messages, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(messages); }

TEST(Messages, TheTagsAreNamed) {
  EXPECT_THAT(message_of(messages, "wrong_tag"),
              testing::HasSubstr("They would match if the tags were equal"));
}

}  // namespace
}  // namespace gang::harness
