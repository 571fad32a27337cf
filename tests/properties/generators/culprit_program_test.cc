#include "properties/generators/culprit_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::properties {
namespace {

sim::Report run(const CulpritCase& one) {
  return sim::Simulation(options_of(one)).run([&one](sim::SimulatedRank& rank) {
    run_rank(one, rank);
  });
}

TEST(CulpritProgram, HoldsWithoutACulprit) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    sim::RandomStream random(seed, "culprits");
    Draw draw{random, 100, 64};
    CulpritCase one = generate_culprit(draw);
    one.culprits.clear();
    one.iterations = std::min(one.iterations, 3);
    EXPECT_TRUE(run(one).holds()) << to_text(one) << "\n" << to_string(run(one));
  }
}

// Two pairs, and one call of all.
CulpritCase small(const Culprit& culprit) {
  return {.axes = {2, 2, 1},
          .calls = {{.kind = SharedCallKind::all_reduce, .gang = 1, .line = 10},
                    {.kind = SharedCallKind::barrier, .gang = 0, .line = 11}},
          .culprits = {culprit}};
}

TEST(CulpritProgram, ASlipHappensOnOneRank) {
  EXPECT_TRUE(run(small({.rank = 1, .slip = Slip::adds, .gang = 3})).holds());  // on a gang of one
  for (const Slip slip : {Slip::skips, Slip::adds, Slip::swaps, Slip::returns})
    EXPECT_EQ(run(small({.rank = 1, .slip = slip, .gang = 1})).outcome, sim::Outcome::deadlock);
  EXPECT_EQ(run(small({.rank = 1, .slip = Slip::throws})).outcome, sim::Outcome::failed);
  EXPECT_EQ(run(small({.rank = 1, .slip = Slip::other_count})).findings.at(0).id, "mismatch_count");
}

}  // namespace
}  // namespace gang::properties
