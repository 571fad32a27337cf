#include "sim/backends/gloo/gloo_network.h"

#include <gloo/transport/context.h>

#include "sim/backends/gloo/gloo_roots.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Report run_on_gloo(int world_size, const RankProgram& program) {
  return run({.world_size = world_size, .backend = SimulatedBackend::gloo}, program);
}

TEST(GlooNetwork, PrefixesAreIndependent) {
  const Report report = run_on_gloo(2, [](SimulatedRank& rank) {
    const std::array root_ranks = {0, 1};
    const auto connect = [&](std::string prefix) {
      return gloo_network_of(rank.world())
          .connect({prefix, rank.rank(), 2, root_ranks}, default_timeout);
    };
    const auto a = connect("a");
    const auto b = connect("b");
    std::array<char, 2> bytes = {'a', 'b'};
    const auto to_a = a->createUnboundBuffer(&bytes[0], 1);
    const auto to_b = b->createUnboundBuffer(&bytes[1], 1);
    if (rank.rank() == 0) {
      to_b->send(1, 5);
      to_a->send(1, 5);
      EXPECT_TRUE(to_a->waitSend());
      EXPECT_TRUE(to_b->waitSend());
    } else {
      bytes = {};
      to_a->recv(0, 5);
      to_b->recv(0, 5);
      EXPECT_TRUE(to_a->waitRecv());
      EXPECT_TRUE(to_b->waitRecv());
      EXPECT_THAT(bytes, ElementsAre('a', 'b'));
    }
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(GlooNetwork, FirstNoteWins) {
  const Report report = run_on_gloo(1, [](SimulatedRank& rank) {
    GlooNetwork& network = gloo_network_of(rank.world());
    EXPECT_EQ(network.find_note("a"), std::nullopt);
    const auto endpoint = network.connect({"a", 0, 1, std::array{0}}, default_timeout);
    EXPECT_EQ(network.find_note("a"), std::nullopt);
    network.leave_note("a", "first");
    network.leave_note("a", "second");
    EXPECT_EQ(network.find_note("a"), "first");
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

}  // namespace
}  // namespace gang::sim
