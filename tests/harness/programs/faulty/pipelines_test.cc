// What is wrong in each is in faulty_programs, a property: here, larger worlds and the words.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(Pipelines, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(pipelines()); }

TEST(Pipelines, TheStageThatStopsEarlyIsNamed) {
  EXPECT_THAT(message_of(pipelines(), "missing_microbatch"),
              testing::HasSubstr("Rank 3 never called what matches send"));
}

}  // namespace
}  // namespace gang::harness
