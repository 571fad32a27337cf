#include "harness/conductor/turns.h"

#include <unistd.h>

#include <atomic>
#include <future>
#include <random>

#include "tests/harness/conductor/conducted_world.h"

namespace gang::harness {
namespace {

using namespace conducted;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::IsEmpty;

using Clock = std::chrono::steady_clock;

// Enough for a loaded machine, and short.
constexpr TurnOptions short_turns{
    .patience = 100ms, .stall_limit = 200ms, .silent_threads_limit = 200ms};

// Under which nobody is ever given up.
constexpr TurnOptions endless_turns{.patience = std::chrono::hours(1),
                                    .patience_with_sleep = std::chrono::hours(1),
                                    .stall_limit = std::chrono::hours(1),
                                    .sleep_limit = std::chrono::hours(1),
                                    .silent_threads_limit = std::chrono::hours(1)};

OperationMessage barrier() {
  return {.kind = OperationKind::barrier, .call_site = CallSite::in_function("train.py\0step", 3)};
}

StoreMessage set_key(const std::string& key, std::string_view value = "") {
  return {.function = StoreFunction::set, .keys = {key}, .values = {bytes_of(value)}};
}
StoreMessage get_key(const std::string& key) {
  return {.function = StoreFunction::get, .keys = {key}};
}

// Collectives, works, receives from any source and races for keys, at any speed.
void race(Client& client, std::uint64_t speed) {
  std::mt19937_64 random(speed * 97 + static_cast<std::uint64_t>(client.rank()));
  const auto compute = [&random] {
    if (random() % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
  };
  std::vector<std::int32_t> order;
  for (int round = 0; round < 3; ++round) {
    compute();
    client.store({.function = StoreFunction::append,
                  .keys = {"order"},
                  .values = {bytes_of(std::to_string(client.rank()))}});
    const std::uint64_t work = client.start({.kind = OperationKind::all_reduce,
                                             .type = DataType::i32,
                                             .count = 1,
                                             .data = bytes_of(std::vector<std::int32_t>{round})});
    compute();
    if (client.rank() != 0) {
      client.call({.kind = OperationKind::send, .peer = 0, .count = 1, .data = bytes_of("x")});
    } else {
      for (int i = 1; i < client.world_size(); ++i) {
        order.push_back(
            client
                .call({.kind = OperationKind::recv, .from_any = true, .any_tag = true, .count = 1})
                .source);
        compute();
      }
    }
    client.wait(work);
    order.push_back(static_cast<std::int32_t>(
        client.store({.function = StoreFunction::add, .number = 1, .keys = {"n"}}).number));
  }
  compute();
  client.call(barrier());
  const StoredMessage appended = client.store(get_key("order"));
  const std::vector<std::byte>& appended_order = appended.values.at(0);
  client.tell(OutputMessage{.name = "order",
                            .count = static_cast<std::int64_t>(appended_order.size()),
                            .values = appended_order});
  client.tell(OutputMessage{.name = "sources",
                            .type = DataType::i32,
                            .count = static_cast<std::int64_t>(order.size()),
                            .values = bytes_of(order)});
}

TEST(Turns, TheScheduleIsAFunctionOfTheSeedHoweverFastTheProcessesAre) {
  const auto identity = [](std::uint64_t seed, std::uint64_t speed) {
    const RunResult result =
        conduct({.world_size = 4, .schedule = ScheduleChoice::random, .seed = seed},
                [speed](Client& client) { race(client, speed); });
    EXPECT_EQ(result.report.outcome, sim::Outcome::completed) << to_string(result);
    return identity_of(result);
  };
  const std::vector<std::uint64_t> first = identity(1, 0);
  for (std::uint64_t speed = 1; speed < 20; ++speed) EXPECT_EQ(identity(1, speed), first);
  EXPECT_NE(identity(2, 0), first);
}

TEST(Turns, RoundRobinDoesNotDependOnSpeedEither) {
  std::vector<std::uint64_t> first;
  for (std::uint64_t speed = 0; speed < 5; ++speed) {
    const RunResult result = conduct(3, [speed](Client& client) { race(client, speed); });
    if (speed == 0) first = identity_of(result);
    EXPECT_EQ(identity_of(result), first);
  }
}

TEST(Turns, AVerdictFallsAtOnceWhenAllAreBlocked) {
  const auto begin = Clock::now();
  ConductedWorld world({.world_size = 3, .turns = endless_turns});
  const RunResult result = world.run([](Client& client) {
    if (client.rank() != 2) return void(client.call(barrier()));
    client.call({.kind = OperationKind::recv, .peer = 0, .count = 1});
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  EXPECT_EQ(result.report.blocked.size(), 3U);
  EXPECT_LT(Clock::now() - begin, 10s);  // most of it is the question for the stacks
  EXPECT_EQ(world.conductor().turns().irreproducible(), "");
  EXPECT_THAT(world.conductor().turns().stuck_ranks(), IsEmpty());
}

TEST(Turns, NoVerdictFallsWhileAProcessComputes) {
  const RunResult result = conduct({.world_size = 2, .turns = short_turns}, [](Client& client) {
    if (client.rank() == 1) {
      const auto end = Clock::now() + 400ms;  // longer than anybody's patience
      while (Clock::now() < end) {
      }
    }
    client.call(barrier());
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Turns, NorWhileItSleeps) {
  const RunResult result = conduct({.world_size = 2, .turns = short_turns}, [](Client& client) {
    if (client.rank() == 1) std::this_thread::sleep_for(400ms);
    client.call(barrier());
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Turns, ButNotForEver) {
  std::atomic<bool> is_over = false;
  TurnOptions turns = short_turns;
  turns.sleep_limit = 600ms;
  const auto begin = Clock::now();
  ConductedWorld world({.world_size = 2, .turns = turns});
  std::jthread release;
  const RunResult result = world.run([&](Client& client) {
    if (client.rank() == 1) return void(client.call(barrier()));
    release = std::jthread([&is_over] {
      std::this_thread::sleep_for(3s);
      is_over = true;
    });
    while (!is_over) std::this_thread::sleep_for(20ms);
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  EXPECT_THAT(world.conductor().turns().stuck_ranks(), ElementsAre(0));
  EXPECT_GE(Clock::now() - begin, turns.sleep_limit);
}

// One rank looks, again and again, for what another one does after a call.
TEST(Turns, ASleepingProcessLosesItsTurn) {
  std::atomic<bool> is_done = false;
  TurnOptions turns = short_turns;
  turns.patience_with_sleep = 300ms;
  ConductedWorld world({.world_size = 2, .turns = turns});
  const RunResult result = world.run([&](Client& client) {
    if (client.rank() == 0) {
      while (!is_done) std::this_thread::sleep_for(5ms);
    } else {
      client.store(set_key("k"));
      is_done = true;
    }
    client.call(barrier());
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_NE(world.conductor().turns().irreproducible(), "");
}

// Once the order depends on time, nobody is waited for any longer than those who do not sleep.
TEST(Turns, ASleepingProcessLosesItsTurnSoonOnceTheOrderDependsOnTime) {
  std::atomic<bool> is_done = false;
  TurnOptions turns = short_turns;
  turns.patience_with_sleep = turns.sleep_limit = 30s;
  ConductedWorld world({.world_size = 3, .turns = turns});
  const auto begin = Clock::now();
  const RunResult result = world.run([&](Client& client) {
    if (client.rank() == 0) is_done.wait(false);
    while (client.rank() == 1 && !is_done) std::this_thread::sleep_for(5ms);
    if (client.rank() == 2) {
      client.store(set_key("k"));
      is_done = true;
      is_done.notify_all();
    }
    client.call(barrier());
  });
  EXPECT_LT(Clock::now() - begin, turns.sleep_limit);  // nobody had to be given up
  EXPECT_TRUE(result.holds()) << to_string(result);
}

// One rank waits, outside of any gang, for what another one does after a call.
TEST(Turns, AnIdleProcessLosesItsTurnAndTheReportSaysSo) {
  std::promise<void> done;
  std::shared_future<void> is_done = done.get_future().share();
  ConductedWorld world({.world_size = 2, .turns = short_turns});
  const RunResult result = world.run([&](Client& client) {
    if (client.rank() == 0) {
      is_done.wait();
    } else {
      client.store(set_key("k"));
      done.set_value();
    }
    client.call(barrier());
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_NE(world.conductor().turns().irreproducible(), "");
  EXPECT_THAT(world.conductor().turns().stuck_ranks(), IsEmpty());
}

// Of a process that is several ranks, only the threads of this one count.
TEST(Turns, WhoWaitsForACallOfItsOtherThreadLosesNothingWhereOtherRanksShareItsProcess) {
  ConductedWorld world({.world_size = 2, .turns = {.patience = 20s}});
  const RunResult result = world.run([](Client& client) {
    start_thread(client, "other", [](Client& own) { own.call(barrier()); }).join();
    client.call(barrier());
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(world.conductor().turns().irreproducible(), "");
}

TEST(Turns, AllIdleOutsideOfCallsIsAProbableDeadlock) {
  std::promise<void> never;
  const std::shared_future<void> is_over = never.get_future().share();
  ConductedWorld world({.world_size = 2, .turns = short_turns});
  std::jthread release;
  const RunResult result = world.run([&](Client& client) {
    if (client.rank() == 1) return void(client.call(barrier()));
    release = std::jthread([&never] {
      std::this_thread::sleep_for(1s);
      never.set_value();
    });
    is_over.wait();
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  const Turns& turns = world.conductor().turns();
  EXPECT_THAT(turns.stuck_ranks(), ElementsAre(0));
  EXPECT_THAT(turns.real_time(sim::Outcome::deadlock).stuck_ranks, ElementsAre(0));
  EXPECT_THAT(turns.real_time(sim::Outcome::failed).stuck_ranks, IsEmpty());
  EXPECT_EQ(result.report.blocked.size(), 2U);
}

TEST(Turns, AnInterruptMakesOfWhoeverIsOutsideOneThatIsStuckBusyOrNot) {
  std::atomic<bool> interrupt = false;
  std::atomic<bool> is_over = false;
  ConductedWorld world({.world_size = 3, .turns = {.interrupt = &interrupt}});
  std::jthread impatient;
  const RunResult result = world.run([&](Client& client) {
    if (client.rank() != 1) return void(client.call(barrier()));
    impatient = std::jthread([&] {
      std::this_thread::sleep_for(50ms);
      interrupt = true;
      std::this_thread::sleep_for(1s);
      is_over = true;
    });
    while (!is_over) {
    }
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  EXPECT_THAT(world.conductor().turns().stuck_ranks(), ElementsAre(1));
  EXPECT_EQ(result.report.blocked.size(), 3U);
}

// Rank 1 has made a call, and is now somewhere else.
TEST(Turns, WhoIsOutsideOfCallsIsWhereItIsNow) {
  std::atomic<bool> interrupt = false;
  std::atomic<bool> is_over = false;
  std::promise<void> watches;
  std::jthread impatient;
  std::jthread watcher;  // outlives the world, whose end it waits for
  ConductedWorld world({.world_size = 2, .turns = {.interrupt = &interrupt}});
  const RunResult result = world.run([&](Client& client) {
    client.call(barrier());
    if (client.rank() == 0) return void(client.call(barrier()));
    HelloMessage hello = Client::caller(1, 2);
    hello.is_watcher = true;
    watcher = std::jthread([hello, &watches, path = client.path()] {
      try {
        Client own(path, hello);
        own.set_stack(
            {{{.name = "MainThread", .frames = {CallSite::in_function("data.py\0load", 99)}}}});
        watches.set_value();
        own.receive();
      } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the run is over
      }
    });
    impatient = std::jthread([&] {
      watches.get_future().wait();
      interrupt = true;
      std::this_thread::sleep_for(300ms);
      is_over = true;
    });
    while (!is_over) {
    }
  });
  ASSERT_EQ(result.report.blocked.size(), 2U);
  const auto outside = std::ranges::find(result.report.blocked, 1, &sim::BlockedCall::rank);
  EXPECT_EQ(to_string(outside->location), "data.py:99");
}

TEST(Turns, OneThatSeemedStuckMaySpeakAfterAll) {
  std::promise<void> done;
  const std::shared_future<void> is_done = done.get_future().share();
  ConductedWorld world({.world_size = 2, .turns = short_turns});
  std::jthread release;
  const RunResult result = world.run([&](Client& client) {
    if (client.rank() == 1) {
      release = std::jthread([&done] {
        std::this_thread::sleep_for(500ms);
        done.set_value();
      });
      const auto end = Clock::now() + 600ms;  // it computes while the other one is idle
      while (Clock::now() < end) {
      }
    } else {
      is_done.wait();
    }
    client.call(barrier());
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_THAT(world.conductor().turns().stuck_ranks(), IsEmpty());
}

// A thread of the rank that has not called, and does so only in `program`.
std::jthread start_silent_thread(Client& client, std::function<void()> program) {
  std::promise<std::uint32_t> id;
  std::jthread thread([&id, program = std::move(program)] {
    id.set_value(static_cast<std::uint32_t>(::gettid()));
    program();
  });
  client.set_silent_threads({id.get_future().get()});
  return thread;
}

// When it calls is for itself to say, and the report says so.
TEST(Turns, ThreadsThatNeverCalledKeepTheVerdictBack) {
  std::jthread silent;
  ConductedWorld world({.world_size = 2});
  const RunResult result = world.run([&silent](Client& client) {
    if (client.rank() == 1) return;
    silent = start_silent_thread(client, [path = client.path()] {
      std::this_thread::sleep_for(150ms);
      live_as(path, Client::caller(0, 2, "silent"),
              [](Client& own) { own.store(set_key("k", "v")); });
    });
    EXPECT_THAT(texts_of(client.store(get_key("k"))), ElementsAre("v"));
    client.set_silent_threads({});
    client.store(get_key("k"));
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_THAT(world.conductor().turns().irreproducible(),
              testing::HasSubstr("thread silent of rank 0"));
}

TEST(Turns, ThreadsThatStaySilentDoNotKeepItBackForEver) {
  const auto begin = Clock::now();
  std::jthread silent;
  std::promise<void> end;
  const RunResult result = conduct({.world_size = 2, .turns = short_turns}, [&](Client& client) {
    if (client.rank() == 1) return;
    silent = start_silent_thread(client, [&end] { end.get_future().wait(); });
    client.store(get_key("k"));
  });
  end.set_value();
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  EXPECT_GE(Clock::now() - begin, short_turns.silent_threads_limit);
  EXPECT_EQ(result.report.blocked.size(), 1U) << "they are not blocked themselves";
}

// Whoever is faster goes first; nothing else is different.
TEST(Turns, FreeOnesAreTakenAsTheyCome) {
  TurnOptions free;
  free.is_free = true;
  std::vector<std::string> order;
  const RunResult result = conduct({.world_size = 2, .turns = free}, [&order](Client& client) {
    if (client.rank() == 0) std::this_thread::sleep_for(100ms);
    client.store({.function = StoreFunction::append,
                  .keys = {"order"},
                  .values = {bytes_of(std::to_string(client.rank()))}});
    client.call(barrier());
    if (client.rank() == 0) order = texts_of(client.store(get_key("order")));
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_THAT(order, ElementsAre("10"));
}

}  // namespace
}  // namespace gang::harness
