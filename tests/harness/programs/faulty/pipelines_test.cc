// The property faulty_programs checks every finding; this checks larger worlds and the wording.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(Pipelines, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(pipelines); }

TEST(Pipelines, TheStageThatStopsEarlyIsNamed) {
  EXPECT_THAT(message_of(pipelines, "missing_microbatch"),
              testing::HasSubstr("Rank 3 never called what matches send"));
}

}  // namespace
}  // namespace gang::harness
