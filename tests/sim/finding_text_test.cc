#include "sim/finding_text.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(FindingText, RanksAgreeWithTheirVerb) {
  EXPECT_EQ(ranks_text({4}), "rank 4");
  EXPECT_EQ(ranks_text({0, 1, 2, 6}), "ranks 0-2,6");
  EXPECT_EQ(ranks_do({4}, "waits", "wait"), "rank 4 waits");
  EXPECT_EQ(ranks_do({4, 5}, "waits", "wait"), "ranks 4-5 wait");
  EXPECT_EQ(capitalised("rank 4"), "Rank 4");
}

}  // namespace
}  // namespace gang::sim
