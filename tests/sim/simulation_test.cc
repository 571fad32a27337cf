#include "sim/simulation.h"

#include <thread>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(Simulation, RunsTheProgramOnceOnEveryRank) {
  std::vector<int> ran(6, 0);
  const Report report = run(6, [&ran](SimulatedRank& rank) {
    ++ran[static_cast<std::size_t>(rank.rank())];
    EXPECT_EQ(rank.world_size(), 6);
  });
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(ran, std::vector<int>(6, 1));
}

TEST(Simulation, MayRunSeveralPrograms) {
  Simulation simulation({.world_size = 3});
  for (int i = 0; i < 3; ++i) {
    const Report report =
        simulation.run([](SimulatedRank& rank) { EXPECT_EQ(count_members(*rank.root()), 3); });
    EXPECT_TRUE(report.holds());
  }
  EXPECT_EQ(simulation.options().world_size, 3);
}

TEST(Simulation, ADeadlockLeavesTheNextRunAlone) {
  Simulation simulation({.world_size = 3});
  const auto program = [](bool is_faulty) {
    return [is_faulty](SimulatedRank& rank) {
      if (!is_faulty || rank.rank() != 0) rank.root()->barrier();
    };
  };
  EXPECT_EQ(simulation.run(program(true)).outcome, Outcome::deadlock);
  EXPECT_TRUE(simulation.run(program(false)).holds());
}

TEST(Simulation, RandomStreamsAreOfTheSeedTheRankAndTheName) {
  const auto draw = [](std::uint64_t seed, const char* name) {
    std::vector<std::uint64_t> drawn(2);
    run({.world_size = 2, .seed = seed}, [&](SimulatedRank& rank) {
      drawn[static_cast<std::size_t>(rank.rank())] = rank.random_stream(name)();
    });
    return drawn;
  };
  EXPECT_EQ(draw(1, "data"), draw(1, "data"));
  EXPECT_NE(draw(1, "data"), draw(2, "data"));
  EXPECT_NE(draw(1, "data"), draw(1, "other"));
  EXPECT_NE(draw(1, "data")[0], draw(1, "data")[1]);
}

TEST(Simulation, TwoOnTwoThreadsDoNotKnowOfEachOther) {
  const auto digest = [](std::uint64_t seed) {
    const SimulationOptions options{
        .world_size = 12, .seed = seed, .scheduler = SchedulerKind::random};
    const Report report = run(options, [](SimulatedRank& rank) {
      for (int i = 0; i < 200; ++i) {
        try {
          if (count_members(*rank.root()) == 12) throw std::runtime_error("expected");
        } catch (const std::runtime_error&) {
          rank.root()->barrier();
        }
      }
    });
    EXPECT_TRUE(report.holds());
    return report.trace.digest;
  };
  const std::vector<std::uint64_t> alone = {digest(1), digest(2)};
  std::vector<std::uint64_t> together(2);
  {
    std::jthread one([&] { together[0] = digest(1); });
    std::jthread two([&] { together[1] = digest(2); });
  }
  EXPECT_EQ(together, alone);
}

TEST(Simulation, ManyShortOnesMayRunOnManyThreads) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (int world_size = 1; world_size < 30; ++world_size)
        EXPECT_TRUE(run(world_size, [](SimulatedRank& rank) { rank.root()->barrier(); }).holds());
    });
}

TEST(Simulation, WallTimeCoversTheRun) {
  const Report report =
      run(1, [](SimulatedRank&) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  EXPECT_GE(report.wall_time, 5ms);
  EXPECT_EQ(report.virtual_time, Duration(0));
}

}  // namespace
}  // namespace gang::sim
