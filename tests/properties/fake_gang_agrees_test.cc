#include "properties/fake_gang_agrees.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

FakeGangFactory wrong_in(OperationKind kind) {
  return [kind](const FakeGangOptions& options) -> std::shared_ptr<Gang> {
    return corrupting(kind).wrap(make_fake_gang(options));
  };
}

TEST(FakeGangAgrees, HoldsForTheRealOne) { expect_hold(fake_gang_agrees()); }

TEST(FakeGangAgrees, AFakeThatReducesWronglyIsCaught) {
  const Counterexample found =
      expect_caught(fake_gang_agrees(wrong_in(OperationKind::all_reduce)),
                    "equals_simulated_ranks_with_equal_data", "on a fake gang, step 0");
  EXPECT_THAT(found.text, ::testing::HasSubstr("all_reduce"));
}

TEST(FakeGangAgrees, AFakeThatScattersAnotherChunkIsCaught) {
  expect_caught(fake_gang_agrees(wrong_in(OperationKind::scatter)),
                "scatter_picks_the_ranks_own_chunk", "a chunk other than its own");
}

}  // namespace
}  // namespace gang::properties
