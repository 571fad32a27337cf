#include "sim/verdict/deadlock_verdict.h"

#include <chrono>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

Report expect_deadlock(int world_size, const RankProgram& program, const std::string& id,
                       const std::vector<int>& ranks) {
  Report report = run(world_size, program);
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_THAT(ids_of(report), ElementsAre(id));
  if (!report.findings.empty()) {
    EXPECT_EQ(report.findings[0].ranks, ranks);
  }
  return report;
}

TEST(DeadlockVerdict, NamesARankThatHasReturned) {
  const Report report = expect_deadlock(8,
                                        [](SimulatedRank& rank) {
                                          rank.root()->barrier();
                                          if (rank.rank() != 5)
                                            rank.root()->barrier({}, CallSite::at("train.cc", 41));
                                        },
                                        "participant_missing", {5});
  EXPECT_EQ(to_string(report.findings[0].call), "barrier #1");
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:41");
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("Ranks 0-4,6-7 wait for it"));
}

// The barrier is queued behind a send that rank 0 does not receive: what is shown is both.
TEST(DeadlockVerdict, SaysWhatAQueuedCallIsBehind) {
  SimulationOptions options{.world_size = 2};
  options.execution = ExecutionModel::stream_ordered;
  const Report report = run(options, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    Work sending;
    if (rank.rank() == 1)
      sending = rank.root()->start_send(view_of(value), 0, 0, {}, CallSite::at("train.cc", 5));
    rank.root()->barrier({}, CallSite::at("train.cc", 6));
    if (rank.rank() == 1) sending.wait();
  });
  ASSERT_EQ(report.blocked.size(), 2U);
  EXPECT_EQ(report.blocked[0].behind, std::nullopt);
  EXPECT_EQ(to_string(report.blocked[1].call), "barrier #0");
  EXPECT_EQ(
      report.blocked[1].behind,
      (QueuedBehind{
          {"root", "0,1"},
          {.kind = "send", .payload = "i32[]", .direction = CallText::Direction::to, .peer = 0},
          {"train.cc", 5}}));
  EXPECT_THAT(to_string(report), HasSubstr("behind root[0,1]  send i32[] to rank 0"));
}

TEST(DeadlockVerdict, SaysWhetherOneOfSeveralOperationsWouldDo) {
  for (const bool waits_for_any : {false, true}) {
    const Report report = run(3, [waits_for_any](SimulatedRank& rank) {
      if (rank.rank() != 0) return;
      std::int32_t values[2] = {};
      Work works[] = {rank.root()->start_recv(view_of(values[0]), 1),
                      rank.root()->start_recv(view_of(values[1]), 2)};
      if (waits_for_any) Work::wait_any(works);
      Work::wait_all(works);
    });
    ASSERT_THAT(blocked_ranks(report), ElementsAre(0));
    EXPECT_EQ(report.blocked[0].waits_for_any, waits_for_any);
  }
}

TEST(DeadlockVerdict, ListsEveryBlockedRankWithWhatItWaitsFor) {
  const Report report = run(5, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    switch (rank.rank()) {
      case 0:
        return rank.root()->barrier();
      case 1:
        return rank.root()->send(view_of(value), 4, 2);
      case 2:
        rank.root()->recv(view_of(value), any_rank, 3);
        return;
      case 3:
        return rank.root()->start_barrier().wait();
      default:
        return;
    }
  });
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  ASSERT_THAT(blocked_ranks(report), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(to_string(report.blocked[0].call), "barrier #0");
  EXPECT_EQ(to_string(report.blocked[0].gang), "root[0-4]");
  EXPECT_THAT(to_string(report.blocked[0].location), HasSubstr("deadlock_verdict_test.cc:"));
  EXPECT_THAT(report.blocked[0].waits_for, ElementsAre(1, 2, 4));
  EXPECT_THAT(to_string(report.blocked[1].call), HasSubstr("to rank 4 tag 2"));
  EXPECT_THAT(report.blocked[1].waits_for, ElementsAre(4));
  EXPECT_THAT(report.blocked[2].waits_for, ElementsAre(0, 1, 3, 4));
  EXPECT_EQ(report.blocked[2].waits_for_count, 4U);
  EXPECT_EQ(to_string(report.blocked[3].call), "barrier #0");
  EXPECT_EQ(report.blocked[3].would_time_out_after_ns, 900'000'000'000U);
}

TEST(DeadlockVerdict, FindsGangsCalledInDifferentOrders) {
  const Report report = expect_deadlock(
      4,
      [](SimulatedRank& rank) {
        const auto rows = rank.root()->split({.color = rank.rank() / 2}, {.name = "row"});
        const auto columns = rank.root()->split({.color = rank.rank() % 2}, {.name = "column"});
        // Rows first, but on the diagonal columns first.
        const bool is_on_diagonal = rank.rank() == 0 || rank.rank() == 3;
        (is_on_diagonal ? columns : rows)->barrier();
        (is_on_diagonal ? rows : columns)->barrier();
      },
      "cross_gang_cycle", {0, 1, 2, 3});
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("0 → 2 → 3 → 1 → 0"));
}

TEST(DeadlockVerdict, FindsACycleOfMessages) {
  const Report report = expect_deadlock(3,
                                        [](SimulatedRank& rank) {
                                          std::int32_t value = 0;
                                          rank.root()->send(view_of(value), (rank.rank() + 1) % 3);
                                          rank.root()->recv(view_of(value));
                                        },
                                        "point_to_point_cycle", {0, 1, 2});
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("0 → 1 → 2 → 0"));
}

TEST(DeadlockVerdict, SpeaksOfRanksOfTheRootGangOnly) {
  const Report report = expect_deadlock(4,
                                        [](SimulatedRank& rank) {
                                          std::int32_t value = 0;
                                          const auto pair = child_of(*rank.root(), {3, 1});
                                          if (pair) pair->recv(view_of(value), 1 - pair->rank());
                                        },
                                        "point_to_point_cycle", {1, 3});
  ASSERT_EQ(report.blocked.size(), 2U);
  EXPECT_EQ(report.blocked[0].rank, 1);
  EXPECT_EQ(report.blocked[0].call.peer, 3);
  EXPECT_EQ(report.blocked[1].call.peer, 1);
}

TEST(DeadlockVerdict, FindsTagsThatDiffer) {
  const Report report = expect_deadlock(2,
                                        [](SimulatedRank& rank) {
                                          std::int32_t value = 0;
                                          if (rank.rank() == 0)
                                            rank.root()->send(view_of(value), 1, 7);
                                          else
                                            rank.root()->recv(view_of(value), 0, 8);
                                        },
                                        "mismatch_tag", {0, 1});
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("tag 7"));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("tag 8"));
}

TEST(DeadlockVerdict, FindsStreamsLaunchedInDifferentOrders) {
  const SimulationOptions options{.world_size = 2, .execution = ExecutionModel::stream_ordered};
  const Report report = run(options, [](SimulatedRank& rank) {
    const auto a = child_of(*rank.root(), {0, 1}, {.name = "a"});
    const auto b = child_of(*rank.root(), {0, 1}, {.name = "b"});
    std::int32_t value = 0;
    std::vector<Work> works;
    if (rank.rank() == 0) works.push_back(a->start_barrier());
    works.push_back(b->start_broadcast(view_of(value)));
    if (rank.rank() == 1) works.push_back(a->start_barrier());
    works[1].wait();  // launched behind what the other rank has not come to
    works[0].wait();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("stream_order_inversion"));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("a[0,1] and b[0,1]"));
}

TEST(DeadlockVerdict, FindsAMessageThatNobodyCouldSendAnyMore) {
  expect_deadlock(3,
                  [](SimulatedRank& rank) {
                    std::int32_t value = 0;
                    if (rank.rank() == 1) rank.root()->recv(view_of(value));
                  },
                  "participant_missing", {0, 2});
}

TEST(DeadlockVerdict, AReceiveFromAnySourceIsNotMissingWhoHasReturnedWhileOthersRemain) {
  expect_deadlock(3,
                  [](SimulatedRank& rank) {
                    std::int32_t value = 0;
                    if (rank.rank() != 0) rank.root()->recv(view_of(value));
                  },
                  "deadlock", {1, 2});
}

TEST(DeadlockVerdict, ManyMessagesToOneThatHasReturnedAreOneFinding) {
  const Report report = expect_deadlock(500,
                                        [](SimulatedRank& rank) {
                                          std::int32_t value = 0;
                                          if (rank.rank() != 0)
                                            rank.root()->send(view_of(value), 0);
                                        },
                                        "participant_missing", {0});
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("Ranks 1-499 wait for it"));
}

TEST(DeadlockVerdict, FindsARankThatWaitsForItself) {
  expect_deadlock(1,
                  [](SimulatedRank& rank) {
                    std::int32_t value = 0;
                    rank.root()->send(view_of(value), 0);
                  },
                  "point_to_point_cycle", {0});
}

TEST(DeadlockVerdict, SeesMutexesJoinsAndConditions) {
  const Report report = run(1, [](SimulatedRank& rank) {
    Runtime& runtime = rank.runtime();
    const auto mutex = runtime.make_mutex();
    const auto other = runtime.make_mutex();
    const auto condition = runtime.make_condition();
    const std::lock_guard held(*mutex);
    const auto locker = runtime.start_thread("locker", [&] { const std::lock_guard l(*mutex); });
    const auto waiter = runtime.start_thread("waiter", [&] {
      std::unique_lock lock(*other);
      condition->wait(lock);
    });
    waiter->join();
  });
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_THAT(ids_of(report), ElementsAre("deadlock"));
  ASSERT_EQ(report.blocked.size(), 3U);
  EXPECT_EQ(to_string(report.blocked[0].call), "join of waiter");
  EXPECT_EQ(report.blocked[1].context, "locker");
  EXPECT_EQ(to_string(report.blocked[1].call), "lock of a mutex");
  EXPECT_THAT(report.blocked[1].waits_for, ElementsAre(0));
  EXPECT_EQ(report.blocked[2].context, "waiter");
  EXPECT_EQ(to_string(report.blocked[2].call), "wait for a condition");
}

TEST(DeadlockVerdict, IsNotGivenWhileASleeperWillReleaseTheOthers) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 2) rank.runtime().sleep_for(600s);
    rank.root()->barrier();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_EQ(report.virtual_time, 600s);
}

TEST(DeadlockVerdict, IsNotGivenWhileAFurtherContextWillReleaseTheOthers) {
  const Report report = run(2, [](SimulatedRank& rank) {
    const auto gang = child_of(*rank.root(), {0, 1});
    if (rank.rank() == 0) {
      gang->barrier();
    } else {
      const auto thread = rank.runtime().start_thread("late", [&] {
        rank.runtime().sleep_for(1ms);
        gang->barrier();
      });
      thread->join();
    }
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(DeadlockVerdict, EndsPollLoopsThatNeverSucceed) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) return;
    Work work = rank.root()->start_barrier();
    while (!work.test()) {
    }
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  ASSERT_EQ(report.blocked.size(), 1U);
  EXPECT_EQ(to_string(report.blocked[0].call), "barrier #0");
  EXPECT_THAT(report.blocked[0].waits_for, ElementsAre(1));
}

TEST(DeadlockVerdict, LeavesPollLoopsAloneThatSucceedAfterAPeersSleep) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 1) rank.runtime().sleep_for(1s);
    Work work = rank.root()->start_barrier();
    while (!work.test()) {
    }
    EXPECT_EQ(rank.runtime().now(), 1s);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(DeadlockVerdict, UnwindsEveryStack) {
  int alive = 0;
  struct Counted {
    explicit Counted(int& counter) : count(counter) { ++count; }
    ~Counted() { --count; }
    int& count;
  };
  run(5, [&alive](SimulatedRank& rank) {
    const Counted counted(alive);
    if (rank.rank() == 0) return;
    const auto thread = rank.runtime().start_thread("further", [&] {
      const Counted also_counted(alive);
      rank.root()->barrier();
    });
    thread->join();
  });
  EXPECT_EQ(alive, 0);
}

TEST(DeadlockVerdict, CostsNoMoreThanTheBlockedAndWhatTheyWaitFor) {
  if (!has_fibers()) GTEST_SKIP() << "a large world; runs in builds without a sanitizer";
  // Half of the world waits for the other half: n² / 4 pairs.
  const auto began = std::chrono::steady_clock::now();
  const Report report = run(60'000, [](SimulatedRank& rank) {
    if (rank.rank() % 2 == 0) rank.root()->barrier();
  });
  EXPECT_EQ(report.blocked.size(), 30'000U);
  EXPECT_EQ(report.blocked[0].waits_for.size(), 16U);
  EXPECT_EQ(report.blocked[0].waits_for_count, 30'000U);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 20s);
}

}  // namespace
}  // namespace gang::sim
