// Contexts that wait for their turn, without clients.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/conductor/call_stacks.h"
#include "harness/conductor/turns.h"
#include "sim/simulation.h"
#include "tests/harness/conductor/waiting_process.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""h;
using namespace waiting;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::IsEmpty;
using Clock = std::chrono::steady_clock;

// What `poller` hears once, when it is rung.
class Bell {
 public:
  Bell(Poller& poller, const std::function<void()>& on_ring) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    reads_ = Descriptor(ends[0]);
    writes_ = Descriptor(ends[1]);
    poller.add(reads_.get(), [&poller, on_ring, end = reads_.get()] {
      poller.remove(end);
      on_ring();
    });
  }
  void ring() const { EXPECT_EQ(::write(writes_.get(), "", 1), 1); }

 private:
  Descriptor reads_;
  Descriptor writes_;
};

TEST(TurnsOfContexts, WhoWasStuckInOneRunIsNotInTheNext) {
  const std::atomic<bool> interrupt = true;
  Poller poller;
  Turns turns(poller, {.interrupt = &interrupt});
  RankProcess process;
  for (int run = 0; run < 2; ++run) {
    turns.begin_run();
    const sim::Report report =
        sim::Simulation({.world_size = 1}).run([&](sim::SimulatedRank& rank) {
          Turns::Turn turn{.rank = rank, .process = process};
          turns.wait(turn, [] { return false; });
        });
    EXPECT_EQ(report.outcome, sim::Outcome::deadlock);
    EXPECT_THAT(turns.stuck_ranks(), ElementsAre(0));
  }
}

TEST(TurnsOfContexts, WhoSpeaksIsStuckNoLonger) {
  const std::atomic<bool> interrupt = true;
  Poller poller;
  Turns turns(poller, {.interrupt = &interrupt});
  const RankProcess process;
  bool has_spoken = false;
  const sim::Report report = sim::Simulation({.world_size = 2}).run([&](sim::SimulatedRank& rank) {
    if (rank.rank() == 0) {
      Turns::Turn turn{.rank = rank, .process = process};
      EXPECT_TRUE(turns.wait(turn, [&] { return has_spoken; }));
      return;
    }
    rank.runtime().sleep_for(1s);  // until nobody else can go on
    EXPECT_THAT(turns.stuck_ranks(), ElementsAre(0));
    has_spoken = true;
    turns.note_arrival();
    rank.announce();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_THAT(turns.stuck_ranks(), IsEmpty());
}

// Rank 1 is the first to get stuck.
TEST(TurnsOfContexts, StuckRanksAreToldInTheirOrder) {
  const std::atomic<bool> interrupt = true;
  Poller poller;
  Turns turns(poller, {.interrupt = &interrupt});
  std::array<RankProcess, 2> processes;
  processes.at(1).rank = 1;
  const sim::Report report = sim::Simulation({.world_size = 2}).run([&](sim::SimulatedRank& rank) {
    if (rank.rank() == 0) rank.runtime().sleep_for(1s);
    Turns::Turn turn{.rank = rank, .process = processes.at(static_cast<std::size_t>(rank.rank()))};
    turns.wait(turn, [] { return false; });
  });
  EXPECT_THAT(turns.stuck_ranks(), ElementsAre(1, 0));
  EXPECT_THAT(turns.real_time(report.outcome).stuck_ranks, ElementsAre(0, 1));
}

// Both ranks are idle for so long that they lose their turns.
TEST(TurnsOfContexts, TheFirstWhoLosesItsTurnIsNamedUntilTheNextRun) {
  const pid_t idle = ::fork();
  if (idle == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::pause();
    ::_exit(0);
  }
  Poller poller;
  Turns turns(poller, {.patience = 20ms});
  std::array<RankProcess, 2> processes;
  for (int rank = 0; rank < 2; ++rank) {
    processes.at(static_cast<std::size_t>(rank)).rank = rank;
    processes.at(static_cast<std::size_t>(rank)).id = idle;
  }
  const auto end = Clock::now() + 700ms;
  sim::Simulation({.world_size = 2}).run([&](sim::SimulatedRank& rank) {
    Turns::Turn turn{.rank = rank, .process = processes.at(static_cast<std::size_t>(rank.rank()))};
    EXPECT_TRUE(turns.wait(turn, [&end] { return Clock::now() >= end; }));
    EXPECT_FALSE(turn.is_free) << "it takes turns again";
  });
  EXPECT_THAT(turns.irreproducible(), testing::StartsWith("rank 0 "));
  turns.long_waits().note({.timeout = 1s}, {}, 1, {.begin = {}, .end = Clock::time_point(2s)});
  const RealTime known = turns.real_time(sim::Outcome::completed);
  EXPECT_EQ(known.irreproducible, turns.irreproducible());
  EXPECT_EQ(known.long_waits.size(), 1U);
  EXPECT_FALSE(known.was_interrupted);
  turns.begin_run();
  EXPECT_EQ(turns.irreproducible(), "");
  EXPECT_EQ(turns.real_time(sim::Outcome::completed), RealTime());
  ::kill(idle, SIGKILL);
  ::waitpid(idle, nullptr, 0);
}

// Neither is a matter of time.
constexpr TurnOptions endless{.patience = 1h,
                              .patience_with_sleep = 1h,
                              .stall_limit = 1h,
                              .sleep_limit = 1h,
                              .silent_threads_limit = 1h};

TurnOptions free_and_endless() {
  TurnOptions options = endless;
  options.is_free = true;
  return options;
}

TEST(TurnsOfContexts, AProcessAtRestIsBlockedForCertain) {
  if (!why_none_rests().empty()) GTEST_SKIP() << why_none_rests();
  TwoThreads threads(wait_for_lock, [](int) { wait_for_lock(); });
  RankProcess& process = threads.process();
  Poller poller;
  Turns turns(poller, endless);
  const auto run_with = [&](bool is_silent) {
    turns.begin_run();
    return sim::Simulation({.world_size = 2}).run([&](sim::SimulatedRank& rank) {
      if (rank.rank() == 1) return rank.root()->barrier();
      Turns::Turn turn{
          .rank = rank, .process = process, .is_free = is_silent, .is_silent = is_silent};
      turns.wait(turn, [] { return false; });
    });
  };
  for (const bool is_silent : {false, true}) {
    const sim::Report report = run_with(is_silent);
    EXPECT_EQ(report.outcome, sim::Outcome::deadlock);
    ASSERT_EQ(report.blocked.size(), 2U);
    EXPECT_EQ(report.blocked.front().call.kind, "wait for a lock");
    EXPECT_THAT(turns.resting_ranks(), ElementsAre(0));
    EXPECT_EQ(turns.real_time(report.outcome), RealTime());
    EXPECT_TRUE(is_outside_of_calls(report.blocked.front(), turns));
    EXPECT_FALSE(is_outside_of_calls(report.blocked.back(), turns));
    const std::optional<sim::Finding> finding = ranks_outside_of_calls(report, turns);
    ASSERT_TRUE(finding);
    EXPECT_THAT(finding->ranks, ElementsAre(0));
    sim::Report with_thread_in_call = report;
    with_thread_in_call.blocked.push_back({.rank = 0});
    EXPECT_FALSE(ranks_outside_of_calls(with_thread_in_call, turns));
  }
}

TEST(TurnsOfContexts, AProcessAtRestIsListenedToAgainAfterEachOfItsSteps) {
  if (!why_none_rests().empty()) GTEST_SKIP() << why_none_rests();
  TwoThreads threads(wait_for_lock, [](int) { wait_for_lock(); });
  RankProcess& process = threads.process();
  Poller poller;
  Turns turns(poller, endless);
  RankProcess other;
  other.rank = 1;
  bool has_spoken = false;
  const sim::Report report = sim::Simulation({.world_size = 2}).run([&](sim::SimulatedRank& rank) {
    if (rank.rank() == 0) {
      Turns::Turn turn{.rank = rank, .process = process};
      EXPECT_TRUE(turns.wait(turn, [&] { return has_spoken; }));
      return;
    }
    for (int step = 0; step < 3; ++step) {
      rank.runtime().sleep_for(1s);  // until nobody else can go on
      EXPECT_THAT(turns.resting_ranks(), ElementsAre(0));
      turns.note_step(other, rank);
      EXPECT_THAT(turns.resting_ranks(), ElementsAre(0));
      has_spoken = step == 2;
      turns.note_step(process, rank);
    }
    EXPECT_EQ(process.steps, 3U);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_THAT(turns.resting_ranks(), IsEmpty());
  EXPECT_EQ(turns.irreproducible(), "");
}

// As after a signal.
TEST(TurnsOfContexts, AProcessAtRestThatSpeaksAllTheSameIsHeard) {
  if (!why_none_rests().empty()) GTEST_SKIP() << why_none_rests();
  TwoThreads threads(wait_for_lock, [](int) { wait_for_lock(); });
  Poller poller;
  Turns turns(poller, free_and_endless());
  const RankProcess other;
  const auto limit = Clock::now() + 20s;
  bool has_spoken = false;
  bool is_heard = false;
  const auto let_it_speak = [&] {
    if (!has_spoken && !turns.resting_ranks().empty()) {
      has_spoken = true;
      turns.note_arrival();
    }
    return is_heard || Clock::now() >= limit;
  };
  const sim::Report report = sim::Simulation({.world_size = 2}).run([&](sim::SimulatedRank& rank) {
    Turns::Turn turn{.rank = rank, .process = rank.rank() == 0 ? threads.process() : other};
    if (rank.rank() == 1) {
      rank.runtime().sleep_for(1s);  // until nobody else can go on
      turns.wait(turn, let_it_speak);
      return;
    }
    turns.wait(turn, [&] { return has_spoken; });
    is_heard = true;
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_LT(Clock::now(), limit);
}

// Rank 0 starts a context that can run at once, while rank 1 listens.
TEST(TurnsOfContexts, NobodyListensToAllWhileAContextCanRun) {
  Poller poller;
  Turns turns(poller, free_and_endless());
  const RankProcess process;
  const auto limit = Clock::now() + 20s;
  bool has_run = false;
  const auto is_over = [&] { return has_run || Clock::now() >= limit; };
  const sim::Report report = sim::Simulation({.world_size = 2}).run([&](sim::SimulatedRank& rank) {
    Turns::Turn turn{.rank = rank, .process = process};
    if (rank.rank() == 1) {
      turns.wait(turn, is_over);
      return;
    }
    turns.wait(turn, [] { return true; });
    const auto late = rank.runtime().start_thread("late", [&] { has_run = true; });
    turns.wait(turn, is_over);
    late->join();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_LT(Clock::now(), limit);
}

// Its main thread sleeps while another one has made a call.
TEST(TurnsOfContexts, WhoDozesLetsTheOthersGoOnAndIsListenedToAfterAStep) {
  for (const bool wakes_by_itself : {false, true}) {
    TwoThreads threads([] { std::this_thread::sleep_for(1000s); }, make_call);
    RankProcess& process = threads.process();
    threads.caller().awaits_answer = true;
    Poller poller;
    Turns turns(poller, endless);
    bool has_spoken = false;
    const sim::Report report =
        sim::Simulation({.world_size = 2}).run([&](sim::SimulatedRank& rank) {
          Turns::Turn turn{.rank = rank, .process = process};
          if (rank.rank() == 0) {
            EXPECT_TRUE(turns.wait(turn, [&] { return has_spoken; }));
            return;
          }
          // Rank 0 is listened to first.
          rank.wait_outside();
          if (!wakes_by_itself) {
            threads.caller().awaits_answer = false;
            turns.note_step(process, rank);
          }
          has_spoken = true;
        });
    EXPECT_TRUE(report.holds()) << to_string(report);
    EXPECT_EQ(turns.irreproducible().empty(), !wakes_by_itself);
  }
}

// What it hears may be of a rank that counts as blocked outside of calls.
TEST(TurnsOfContexts, WhoHearsTellsThoseThatAreStuck) {
  const std::atomic<bool> interrupt = true;
  Poller poller;
  Turns turns(poller, {.interrupt = &interrupt});
  const RankProcess process;
  bool has_spoken = false;
  const Bell bell(poller, [&] {
    has_spoken = true;
    turns.note_arrival();
  });
  const sim::Report report = sim::Simulation({.world_size = 2}).run([&](sim::SimulatedRank& rank) {
    if (rank.rank() == 0) {
      Turns::Turn turn{.rank = rank, .process = process};
      EXPECT_TRUE(turns.wait(turn, [&] { return has_spoken; }));
      return;
    }
    rank.runtime().sleep_for(1s);  // until nobody else can go on
    EXPECT_FALSE(turns.hear(rank, Duration(0)));
    bell.ring();
    EXPECT_TRUE(turns.hear(rank, Duration(20s)));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

// Its main thread speaks, and sleeps while another one is in a call.
TEST(TurnsOfContexts, WhoHasJustSpokenDoesNotDoze) {
  TwoThreads threads([] { std::this_thread::sleep_for(1000s); }, make_call);
  threads.process().other_threads = 1;  // so it is looked at as soon as anything is heard
  Poller poller;
  Turns turns(poller, endless);
  bool has_spoken = false;
  const Bell bell(poller, [&] {
    has_spoken = true;
    threads.caller().awaits_answer = true;
    turns.note_arrival();
  });
  const std::jthread speaks([&] {
    std::this_thread::sleep_for(50ms);
    bell.ring();
  });
  const sim::Report report = sim::Simulation({.world_size = 2}).run([&](sim::SimulatedRank& rank) {
    Turns::Turn turn{.rank = rank, .process = threads.process()};
    EXPECT_TRUE(turns.wait(turn, [&] { return has_spoken; }));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_EQ(turns.irreproducible(), "");
}

}  // namespace
}  // namespace gang::harness
