#include "sim/simulation.h"

#include <thread>

#include "sim/state/process_death.h"
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

TEST(Simulation, AGangIsOneForAllWhoNameItAndItsMembers) {
  std::vector<int> counts(4);
  const Report report = run(4, [&counts](SimulatedRank& rank) {
    const auto gang_of = [&rank](const std::string& name, std::vector<int> ranks) {
      GangInfo info = rank.root()->info();
      info.name = name;
      info.root_ranks = std::move(ranks);
      return rank.gang_of(std::move(info), CallSite::here());
    };
    const int me = rank.rank();
    const auto pair = gang_of("pair", me % 2 == 0 ? std::vector{2, 0} : std::vector{1, 3});
    EXPECT_EQ(pair->size(), 2);
    EXPECT_EQ(pair->rank(), me == 2 || me == 1 ? 0 : 1);
    counts[static_cast<std::size_t>(me)] = count_members(*pair);
    for (const std::vector<int>& wrong :
         {std::vector{(me + 1) % 4}, std::vector{me, 4}, std::vector{me, -1}, std::vector{me, me}})
      EXPECT_THROW(gang_of("wrong", wrong), InvalidArgument);
    pair->close();
  });
  EXPECT_TRUE(report.holds());
  EXPECT_THAT(counts, ElementsAre(2, 2, 2, 2));
}

TEST(Simulation, AFindingThatARankAddsIsOneOfTheReport) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1)
      rank.add_finding({.id = "wrong_result", .ranks = {1}, .message = "Too large."});
  });
  EXPECT_THAT(ids_of(report), ElementsAre("wrong_result"));
  EXPECT_EQ(report.findings[0].message, "Too large.");
  EXPECT_FALSE(report.holds());
}

TEST(Simulation, RanksThatDidTheSameShareAFinding) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() != 1)
      rank.add_finding({.id = "wrong_result", .ranks = {rank.rank()}, .message = "lost it."});
    rank.add_finding({.id = "wrong_result", .message = "lost by nobody."});
  });
  ASSERT_THAT(ids_of(report), ElementsAre("wrong_result", "wrong_result"));
  EXPECT_EQ(report.findings[0].message, "Ranks 0,2 lost it.");
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 2));
  EXPECT_EQ(report.findings[1].message, "lost by nobody.");
}

TEST(Simulation, WallTimeCoversTheRun) {
  const Report report =
      run(1, [](SimulatedRank&) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
  EXPECT_GE(report.wall_time, 5ms);
  EXPECT_EQ(report.virtual_time, Duration(0));
}

TEST(Simulation, ARankKeepsAValueOfTheEmbeddingProgram) {
  std::vector<std::string> seen(3);
  auto alive = std::make_shared<int>(0);
  const Report report = run(3, [&](SimulatedRank& rank) {
    EXPECT_FALSE(rank.state().has_value());
    rank.state() = std::make_pair(alive, "rank " + std::to_string(rank.rank()));
    rank.root()->barrier();  // the others set theirs
    seen[static_cast<std::size_t>(rank.rank())] =
        std::any_cast<std::pair<std::shared_ptr<int>, std::string>&>(rank.state()).second;
  });
  EXPECT_TRUE(report.holds());
  EXPECT_THAT(seen, ElementsAre("rank 0", "rank 1", "rank 2"));
  EXPECT_EQ(alive.use_count(), 1) << "gone when the programs end";
}

TEST(Simulation, WhatARanksValueHoldsIsReleasedBeforeItsProgramCountsAsEnded) {
  const Report report = run(2, [](SimulatedRank& rank) {
    rank.state() = rank.root()->split({.color = 0});
    rank.root()->barrier();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Simulation, AnOpenGangIsNoFindingWhereThatIsIgnored) {
  std::vector<std::shared_ptr<Gang>> kept;
  const SimulationOptions options{.world_size = 2, .ignored_leaks = {.gang_not_closed = true}};
  const Report report = run(options, [&kept](SimulatedRank& rank) { kept.push_back(rank.root()); });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_THROW(kept[0]->barrier(), InvalidOperation);
}

// -- Ranks that are processes --

const ProcessDeath killed{.was_killed = true, .what = "killed by signal 9", .detail = "Killed"};

TEST(Simulation, ARankMayDieWithItsProcess) {
  const Report report = run(3, [](SimulatedRank& rank) {
    rank.root()->barrier({}, CallSite::at("train.cc", 7));
    if (rank.rank() == 1) rank.die(killed);
    const auto error =
        gang_error_of([&] { rank.root()->barrier({}, CallSite::at("train.cc", 8)); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->what(), HasSubstr("rank 1 was killed by signal 9"));
  });
  EXPECT_EQ(report.outcome, Outcome::failed);
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_EQ(report.findings[0].message,
            "Rank 1 was killed by signal 9 (Killed) after barrier #0 on root[0-2] at train.cc:7.");
  EXPECT_THAT(to_string(report), HasSubstr("(was killed by signal 9)"));
  EXPECT_THAT(to_string(report), testing::Not(HasSubstr("exception")));
}

TEST(Simulation, RanksThatDieAlikeShareAFinding) {
  const Report report = run(2, [](SimulatedRank& rank) { rank.die(killed); });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_EQ(report.findings[0].message,
            "Ranks 0-1 were killed by signal 9 (Killed) before their first call.");
}

}  // namespace
}  // namespace gang::sim
