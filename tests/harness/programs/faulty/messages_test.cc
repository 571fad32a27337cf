// What is wrong in each is in faulty_programs, a property: here, larger worlds and the words.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(Messages, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(messages()); }

TEST(Messages, TheTagsAreNamed) {
  EXPECT_THAT(message_of(messages(), "wrong_tag"),
              testing::HasSubstr("They would meet if the tags were equal"));
}

}  // namespace
}  // namespace gang::harness
