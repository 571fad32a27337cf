#include "sim/verdict/odd_arguments.h"

#include "tests/sim/verdict/recorded_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Whose last call is odd, where rank r calls `counts[r]` on its gang: a pair, or the root.
std::vector<int> odd_of(const std::vector<std::size_t>& counts, bool on_root = false,
                        const std::vector<std::size_t>& before = {}) {
  const int world_size = static_cast<int>(counts.size());
  const Report report = recorded(world_size, [&](SimulatedRank& rank) {
    const auto tp = pair_of(rank);
    const auto index = static_cast<std::size_t>(rank.rank());
    if (!before.empty()) reduce(*tp, 2, before[index]);
    reduce(on_root ? *rank.root() : *tp, 2, counts[index]);
  });
  const CallSequences sequences(*report.histories);
  std::vector<Place> places;
  for (int rank = 0; rank < world_size; ++rank) places.push_back({rank, before.empty() ? 1U : 2U});
  return odd_in_arguments(sequences, places);
}

TEST(OddArguments, AreThoseThatFewOfTheGangPass) {
  EXPECT_THAT(odd_of({4, 4, 8, 4}, true), ElementsAre(2));
}

TEST(OddArguments, OfAPairAreThoseThatNoOtherPairPasses) {
  EXPECT_THAT(odd_of({4, 4, 8, 4}), ElementsAre(2));
}

TEST(OddArguments, AreNotKnownWherePairsRightlyDiffer) {
  EXPECT_THAT(odd_of({4, 4, 5, 5, 5, 4}), IsEmpty());
}

TEST(OddArguments, AreThenThoseThatHaveChanged) {
  EXPECT_THAT(odd_of({4, 4, 5, 5, 5, 4}, false, {4, 4, 5, 5, 4, 4}), ElementsAre(4));
}

}  // namespace
}  // namespace gang::sim
