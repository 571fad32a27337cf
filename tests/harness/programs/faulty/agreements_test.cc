#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(Agreements, AreFoundInLargerWorlds) { expect_alike_in_larger_worlds(agreements); }

}  // namespace
}  // namespace gang::harness
