#include "sim/engine/simulated_runtime.h"

#include "tests/sim/injection/faulted_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Runs `body` as the program of a single rank, where everything must hold.
void on_one_rank(const std::function<void(Runtime&)>& body) {
  for (const ContextKind context : deterministic_contexts()) {
    const Report report = run({.world_size = 1, .context = context},
                              [&body](SimulatedRank& rank) { body(rank.runtime()); });
    EXPECT_TRUE(report.holds()) << to_string(report);
  }
}

TEST(SimulatedRuntime, SleepTakesExactlyItsTime) {
  on_one_rank([](Runtime& runtime) {
    EXPECT_EQ(runtime.now(), TimePoint(0));
    runtime.sleep_for(Duration(1));
    EXPECT_EQ(runtime.now(), TimePoint(1));
    runtime.sleep_for(24 * 3600s);
    EXPECT_EQ(runtime.now(), 24 * 3600s + Duration(1));
    runtime.sleep_for(Duration(0));
    EXPECT_EQ(runtime.now(), 24 * 3600s + Duration(1));
    EXPECT_THROW(runtime.sleep_for(Duration(-1)), InvalidArgument);
  });
}

TEST(SimulatedRuntime, SleepersWakeInTheOrderOfTheirTimes) {
  std::vector<int> order;
  run(5, [&order](SimulatedRank& rank) {
    rank.runtime().sleep_for(Duration(100 - 7 * rank.rank() % 5));
    order.push_back(rank.rank());
  });
  EXPECT_THAT(order, ElementsAre(2, 4, 1, 3, 0));
}

TEST(SimulatedRuntime, JoinRethrowsWhatLeftTheThreadOnce) {
  on_one_rank([](Runtime& runtime) {
    const auto thread =
        runtime.start_thread("failing", [] { throw std::runtime_error("no such file"); });
    EXPECT_THAT([&thread] { thread->join(); },
                testing::ThrowsMessage<std::runtime_error>("no such file"));
    thread->join();
  });
}

TEST(SimulatedRuntime, AThreadIsJoinedWhenItsHandleGoes) {
  on_one_rank([](Runtime& runtime) {
    bool ran = false;
    {
      const auto thread = runtime.start_thread("slow", [&] {
        runtime.sleep_for(5ms);
        ran = true;
      });
    }
    EXPECT_TRUE(ran);
    EXPECT_EQ(runtime.now(), 5ms);
  });
}

TEST(SimulatedRuntime, ThreadsMayStartThreads) {
  on_one_rank([](Runtime& runtime) {
    int depth = 0;
    const std::function<void()> nest = [&] {
      if (++depth < 10) runtime.start_thread("nested", nest)->join();
    };
    nest();
    EXPECT_EQ(depth, 10);
  });
}

TEST(SimulatedRuntime, AMutexExcludes) {
  for (const auto scheduler : {SchedulerKind::round_robin, SchedulerKind::random}) {
    const Report report = run({.world_size = 1, .scheduler = scheduler}, [](SimulatedRank& rank) {
      Runtime& runtime = rank.runtime();
      const auto mutex = runtime.make_mutex();
      int inside = 0;
      std::vector<std::unique_ptr<RuntimeThread>> threads;
      for (int i = 0; i < 5; ++i)
        threads.push_back(runtime.start_thread("worker", [&] {
          for (int round = 0; round < 5; ++round) {
            const std::lock_guard lock(*mutex);
            EXPECT_EQ(++inside, 1);
            runtime.sleep_for(1ms);
            --inside;
          }
        }));
      for (const auto& thread : threads) thread->join();
      EXPECT_EQ(runtime.now(), 25ms);
    });
    EXPECT_TRUE(report.holds()) << to_string(report);
  }
}

// Destructors that lock run while a run that is over unwinds; they may not throw.
TEST(SimulatedRuntime, DestructorsMayLockAfterADeadlock) {
  struct LocksAtItsEnd {
    explicit LocksAtItsEnd(Runtime& runtime) : mutex(runtime.make_mutex()) {}
    ~LocksAtItsEnd() {
      const std::lock_guard lock(*mutex);
      ++ended;
    }
    std::unique_ptr<RuntimeMutex> mutex;
    static int& count() {
      static int value = 0;
      return value;
    }
    int& ended = count();
  };
  const Report report = run(2, [](SimulatedRank& rank) {
    const LocksAtItsEnd object(rank.runtime());
    if (rank.rank() == 0) rank.root()->barrier();
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_EQ(LocksAtItsEnd::count(), 2);
}

// What they use of those is still there, even where a crash has stopped both anywhere.
TEST(SimulatedRuntime, ThreadsEndBeforeTheProgramsThatStartedThem) {
  struct Local {
    ~Local() { *is_gone = true; }
    std::shared_ptr<bool> is_gone = std::make_shared<bool>(false);
  };
  int used_too_late = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SimulationOptions options =
        with(2, {{.kind = FaultKind::crash, .ranks = {1}, .trigger = {.operation = 1}}});
    options.scheduler = SchedulerKind::random;
    options.seed = seed;
    run(options, [&used_too_late](SimulatedRank& rank) {
      const auto mutex = rank.runtime().make_mutex();
      std::unique_ptr<RuntimeThread> thread;
      const Local local;
      thread = rank.runtime().start_thread("uses local",
                                           [&used_too_late, is_gone = local.is_gone, &mutex] {
                                             for (int i = 0; i < 20; ++i) {
                                               const std::lock_guard lock(*mutex);
                                               if (*is_gone) ++used_too_late;
                                             }
                                           });
      three_barriers(rank);
    });
  }
  EXPECT_EQ(used_too_late, 0);
}

TEST(SimulatedRuntime, TryLockDoesNotWait) {
  on_one_rank([](Runtime& runtime) {
    const auto mutex = runtime.make_mutex();
    EXPECT_TRUE(mutex->try_lock());
    runtime.start_thread("other", [&] { EXPECT_FALSE(mutex->try_lock()); })->join();
    EXPECT_THROW(mutex->lock(), InvalidOperation) << "it is not recursive";
    mutex->unlock();
    runtime
        .start_thread("other",
                      [&] {
                        EXPECT_TRUE(mutex->try_lock());
                        mutex->unlock();
                      })
        ->join();
  });
}

TEST(SimulatedRuntime, ANotificationWakesOneOrAll) {
  on_one_rank([](Runtime& runtime) {
    const auto mutex = runtime.make_mutex();
    const auto condition = runtime.make_condition();
    std::vector<int> woken;
    std::vector<std::unique_ptr<RuntimeThread>> threads;
    for (int i = 0; i < 4; ++i)
      threads.push_back(runtime.start_thread("waiter", [&, i] {
        std::unique_lock lock(*mutex);
        condition->wait(lock);
        woken.push_back(i);
      }));
    runtime.sleep_for(1ms);
    condition->notify_one();
    runtime.sleep_for(1ms);
    EXPECT_THAT(woken, ElementsAre(0));
    condition->notify_all();
    for (const auto& thread : threads) thread->join();
    EXPECT_THAT(woken, testing::UnorderedElementsAre(0, 1, 2, 3));
    condition->notify_all();  // no context waits any more
  });
}

TEST(SimulatedRuntime, AWaitWithATimeoutEndsAtItsExactTime) {
  on_one_rank([](Runtime& runtime) {
    const auto mutex = runtime.make_mutex();
    const auto condition = runtime.make_condition();
    std::unique_lock lock(*mutex);
    EXPECT_FALSE(condition->wait_for(lock, 5ms));
    EXPECT_EQ(runtime.now(), 5ms);
    EXPECT_TRUE(lock.owns_lock());
    const auto thread = runtime.start_thread("notifier", [&] {
      runtime.sleep_for(2ms);
      const std::lock_guard held(*mutex);
      condition->notify_one();
    });
    EXPECT_TRUE(condition->wait_for(lock, 5ms));
    EXPECT_EQ(runtime.now(), 7ms);
    lock.unlock();
  });
}

TEST(SimulatedRuntime, AWaitGivesTheMutexAwayMeanwhile) {
  on_one_rank([](Runtime& runtime) {
    const auto mutex = runtime.make_mutex();
    const auto condition = runtime.make_condition();
    bool ready = false;
    std::unique_lock lock(*mutex);
    const auto thread = runtime.start_thread("producer", [&] {
      const std::lock_guard held(*mutex);
      ready = true;
      condition->notify_one();
    });
    while (!ready) condition->wait(lock);
    EXPECT_TRUE(ready);
  });
}

TEST(SimulatedRuntime, YieldLetsTheOthersGoFirst) {
  on_one_rank([](Runtime& runtime) {
    bool ran = false;
    const auto thread = runtime.start_thread("other", [&ran] { ran = true; });
    EXPECT_FALSE(ran);
    runtime.yield();
    EXPECT_TRUE(ran);
  });
}

TEST(SimulatedRuntime, AThreadsErrorThatNobodyJoinsForIsOneFinding) {
  const Report report = run(1, [](SimulatedRank& rank) {
    const auto thread = rank.runtime().start_thread("failing", [&rank] {
      rank.runtime().sleep_for(1ms);
      throw std::runtime_error("late");
    });
  });
  EXPECT_THAT(ids_of(report), ElementsAre("rank_failed"));
}

}  // namespace
}  // namespace gang::sim
