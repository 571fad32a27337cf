#include "sim/verdict/call_stacks.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

std::size_t stacks_in(const Report& report) {
  return static_cast<std::size_t>(std::ranges::count_if(
      report.blocked, [](const BlockedCall& call) { return !call.call_stack.empty(); }));
}

TEST(CallStacks, AreKeptOfOneContextPerCall) {
  const SimulationOptions options{.world_size = 8, .call_stacks = Recording::on};
  const Report report = run(options, [](SimulatedRank& rank) {
    if (rank.rank() != 5) rank.root()->barrier();
  });
  EXPECT_EQ(report.blocked.size(), 7U);
  EXPECT_EQ(stacks_in(report), 1U);
}

TEST(CallStacks, AreNotKeptUnlessAskedFor) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 0) rank.root()->barrier();
  });
  EXPECT_EQ(report.blocked.size(), 1U);
  EXPECT_EQ(stacks_in(report), 0U);
}

}  // namespace
}  // namespace gang::sim
