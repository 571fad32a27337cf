#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(TrainingLayouts, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(training_layouts); }

}  // namespace
}  // namespace gang::harness
