#include "sim/verdict/cycle.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// A cycle of so many programs of ranks.
Cycle cycle_through(std::vector<Task>& contexts, std::vector<RankState>& ranks) {
  Cycle cycle;
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    ranks[i].rank = static_cast<int>(i);
    contexts[i].rank = &ranks[i];
    cycle.contexts.push_back(&contexts[i]);
    cycle.operations.push_back(nullptr);
  }
  return cycle;
}

TEST(Cycle, ItsPathReturnsToItsBeginning) {
  std::vector<Task> contexts(3);
  std::vector<RankState> ranks(3);
  const Cycle cycle = cycle_through(contexts, ranks);
  EXPECT_EQ(cycle_path(cycle), "0 → 1 → 2 → 0");
  EXPECT_THAT(ranks_of(cycle), ElementsAre(0, 1, 2));
}

TEST(Cycle, ALongPathIsShownByItsBeginningAndItsEnd) {
  std::vector<Task> contexts(20);
  std::vector<RankState> ranks(20);
  const std::string path = cycle_path(cycle_through(contexts, ranks));
  EXPECT_THAT(path, HasSubstr("7 → (10 more) → 18 → 19 → 0"));
}

TEST(Cycle, RanksAreSortedEachOnce) {
  EXPECT_THAT(sorted_ranks({3, 1, 3, 2}), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace gang::sim
