// First calls of threads: when they are taken.
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "harness/conductor/rank_service.h"
#include "tests/harness/conductor/conducted_world.h"
#include "tests/harness/conductor/int_operations.h"
#include "tests/harness/conductor/waiting_process.h"

namespace gang::harness {
namespace {

using namespace conducted;  // NOLINT(google-build-using-namespace)
// What ranks append to the store's "order" one after the other.
void note(Client& client, const std::string& text) {
  client.store({.function = StoreFunction::append, .keys = {"order"}, .values = {bytes_of(text)}});
}

// Of a world of one rank, which is a process of its own: what it has appended, and why that cannot
// be reproduced.
struct Ran {
  std::string order;
  std::string irreproducible;
};

Ran run(const RankProgram& program, const TurnOptions& turns = {.patience = 20s}) {
  const SharedMemory memory(64);
  ConductedWorld world({.world_size = 1, .turns = turns});
  world.fork(0, [&](Client& client) {
    program(client);
    client.set_silent_threads({});
    const StoredMessage order = client.store({.function = StoreFunction::get, .keys = {"order"}});
    std::ranges::copy(order.values.at(0), memory.at<std::byte>(0));
  });
  const RunResult result = world.run([](Client&) {});
  EXPECT_TRUE(result.holds()) << to_string(result);
  return {memory.at<char>(0), world.conductor().turns().irreproducible()};
}

struct SilentThread {
  std::uint32_t id = 0;  // the system's
  std::jthread thread = {};
};

// Starts a thread that calls after `before`; later calls of `client` say that it has not.
SilentThread start_silent(Client& client, const std::function<void()>& before,
                          const RankProgram& program) {
  std::promise<std::uint32_t> id;
  std::jthread thread([&id, before, program, path = client.path(), world = client.world_size()] {
    id.set_value(static_cast<std::uint32_t>(::gettid()));
    before();
    live_as(path, Client::caller(0, world, "silent"), program);
  });
  const std::uint32_t known = id.get_future().get();
  client.set_silent_threads({known});
  return {known, std::move(thread)};
}

TEST(RankServiceThreads, WhoeverIsFasterACallComesBeforeTheFirstOneOfAnotherThread) {
  for (const bool is_main_faster : {false, true}) {
    const Ran ran = run([is_main_faster](Client& client) {
      const SilentThread other = start_silent(
          client, [&] { waiting::work_for(is_main_faster ? 100ms : 0ms); },
          [](Client& own) { note(own, "o"); });
      waiting::work_for(is_main_faster ? 0ms : 100ms);
      note(client, "m");
      note(client, "m");
    });
    EXPECT_EQ(ran.order, "mmo") << is_main_faster;
    EXPECT_EQ(ran.irreproducible, "");
  }
}

TEST(RankServiceThreads, NewOnesAreServedInTheOrderOfTheirStarts) {
  const Ran ran = run([](Client& client) {
    std::promise<void> has_second_called;
    const std::jthread first([&, path = client.path()] {
      has_second_called.get_future().wait();
      live_as(path, Client::caller(0, 1, "first"), [](Client& own) { note(own, "1"); });
    });
    const std::jthread second = start_thread(client, "second", [&](Client& own) {
      has_second_called.set_value();
      note(own, "2");
    });
    waiting::work_for(100ms);
    note(client, "m");
  });
  EXPECT_EQ(ran.order, "m12");
  EXPECT_EQ(ran.irreproducible, "");
}

// Its call has to be waited for without being told.
TEST(RankServiceThreads, ATestLetsNewOnesCallToo) {
  ConductedWorld world({.world_size = 2, .turns = {.patience = 20s}});
  world.fork(0, [](Client& client) {
    const std::uint64_t answer = client.start(int_recv(1));
    const std::jthread other =
        start_thread(client, "other", [](Client& own) { own.call(int_send(1, 5)); });
    while (!client.test(answer)) {
    }
    client.wait(answer);
  });
  const RunResult result = world.run([](Client& client) {
    client.call(int_recv(0));
    client.call(int_send(0, 6));
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(world.conductor().turns().irreproducible(), "");
}

// The main thread looks for what a new one does after its call, and works as it does so.
TEST(RankServiceThreads, ThoseThatOthersLookOutForAreServedAfterAWhile) {
  const Ran ran = run(
      [](Client& client) {
        std::atomic<bool> has_called = false;
        const std::jthread other = start_thread(client, "other", [&](Client& own) {
          note(own, "o");
          has_called = true;
        });
        while (!has_called) {
        }
        note(client, "m");
      },
      {.patience = 20ms, .sleep_limit = 200ms});
  EXPECT_EQ(ran.order, "om");
  EXPECT_NE(ran.irreproducible, "");
}

// The same of one that has called before.
TEST(RankServiceThreads, AThreadThatWorksHoldsUpAnotherOneForAWhileOnly) {
  const Ran ran = run(
      [](Client& client) {
        std::atomic<int> calls = 0;
        const std::jthread other = start_thread(client, "other", [&](Client& own) {
          for (int i = 0; i < 3; ++i) {
            note(own, "o");
            ++calls;
          }
        });
        note(client, "m");
        while (calls < 3) {
        }
        note(client, "m");
      },
      {.patience = 20ms, .sleep_limit = 200ms});
  EXPECT_EQ(ran.order, "mooom");
  EXPECT_NE(ran.irreproducible, "");
}

// Nobody waits for its goodbye to be taken.
TEST(RankServiceThreads, OneThatHasEndedIsNotHeldUp) {
  const Ran ran = run(
      [](Client& client) {
        start_thread(client, "other", [](Client& own) { note(own, "o"); }).join();
        waiting::work_for(400ms);
        note(client, "m");
      },
      {.patience = 20s, .sleep_limit = 100ms});
  EXPECT_EQ(ran.order, "om");
  EXPECT_EQ(ran.irreproducible, "");
}

TEST(RankServiceThreads, WhereRequestsAreTakenAsTheyComeSoAreFirstCalls) {
  const Ran ran = run(
      [](Client& client) {
        const std::jthread other =
            start_thread(client, "other", [](Client& own) { note(own, "o"); });
        waiting::work_for(300ms);
        note(client, "m");
      },
      {.is_free = true, .patience = 20s});
  EXPECT_EQ(ran.order, "om");
}

// Not by itself, though nobody knew of it when the main thread made its last call.
TEST(RankServiceThreads, OneThatAnotherOneReleasesDoesNotCallAtATimeOfItsOwn) {
  const Ran ran = run([](Client& client) {
    sem_t released;
    ::sem_init(&released, 0, 0);
    SilentThread other = start_silent(
        client, [&released] { ::sem_wait(&released); }, [](Client& own) { note(own, "o"); });
    note(client, "m");
    ::sem_post(&released);
    other.thread.join();
    note(client, "m");
  });
  EXPECT_EQ(ran.order, "mom");
  EXPECT_EQ(ran.irreproducible, "");
}

// The main thread sleeps again and again until a new one has called, while a third one is in a
// call. That one may not have known of the new one: then no context watches for it.
TEST(RankServiceThreads, ANewOneEndsTheDozeOfItsProcess) {
  for (const bool is_watched : {false, true}) {
    ConductedWorld world({.world_size = 2, .turns = {.patience = 20s}});
    world.fork(0, [is_watched](Client& client) {
      std::atomic<bool> has_called = false;
      const SilentThread other = start_silent(
          client, [] { std::this_thread::sleep_for(200ms); },
          [&has_called](Client& own) {
            note(own, "o");
            has_called = true;
          });
      const std::jthread waits = start_thread(client, "waits", [&](Client& own) {
        if (is_watched) own.set_silent_threads({other.id});
        own.call(int_recv(1));
      });
      client.store({.function = StoreFunction::count});
      while (!has_called) std::this_thread::sleep_for(5ms);
    });
    const RunResult result = world.run([](Client& client) {
      client.store({.function = StoreFunction::get, .keys = {"order"}});
      client.call(int_send(0, 6));
    });
    EXPECT_TRUE(result.holds()) << to_string(result);
    EXPECT_EQ(world.conductor().turns().irreproducible(), "") << is_watched;
  }
}

// A thread that sleeps between its calls, while the main one makes one call after the other, or
// works for so long in between that it still does when the sleep ends.
TEST(RankServiceThreads, OneThatSleepsBetweenItsCallsDoesNotRepeatItself) {
  for (const auto work : {0ms, 100ms}) {
    const Ran ran = run([work](Client& client) {
      std::atomic<bool> is_over = false;
      const std::jthread sleeps = start_thread(client, "sleeps", [&, work](Client& own) {
        for (int i = 0; i < 3; ++i) {
          note(own, "s");
          std::this_thread::sleep_for(work + work / 2 + 20ms);
        }
        is_over = true;
      });
      while (!is_over) {
        client.store({.function = StoreFunction::count});
        waiting::work_for(work);
      }
    });
    EXPECT_EQ(ran.order, "sss");
    EXPECT_NE(ran.irreproducible, "") << work.count();
  }
}

// A third thread works, so that the sleeping one is waited for, while the main one has called.
TEST(RankServiceThreads, OneWhoseSleepEndsWhileACallWaitsDoesNotRepeatItself) {
  const Ran ran = run([](Client& client) {
    sem_t begun;
    ::sem_init(&begun, 0, 0);
    const std::jthread works([&begun] {
      ::sem_wait(&begun);
      waiting::work_for(400ms);
    });
    const std::jthread sleeps = start_thread(client, "sleeps", [](Client& own) {
      note(own, "s");
      std::this_thread::sleep_for(300ms);
      note(own, "s");
    });
    for (int i = 0; i < 3; ++i) {
      note(client, "m");
      waiting::work_for(50ms);
    }
    note(client, "m");
    ::sem_post(&begun);
    note(client, "m");
  });
  EXPECT_EQ(ran.order, "mmsmmsm");
  EXPECT_NE(ran.irreproducible, "");
}

// It looks for what another one does, sleeping, and then waits to be woken by it.
TEST(RankServiceThreads, OneThatIsWokenAfterItsSleepRepeatsItself) {
  const Ran ran = run([](Client& client) {
    sem_t released;
    ::sem_init(&released, 0, 0);
    std::atomic<bool> has_called = false;
    const std::jthread other = start_thread(client, "other", [&](Client& own) {
      note(own, "o");
      has_called = true;
      waiting::work_for(100ms);
      note(own, "o");
      ::sem_post(&released);
      for (int i = 0; i < 4; ++i) {
        waiting::work_for(50ms);
        note(own, "w");
      }
    });
    while (!has_called) std::this_thread::sleep_for(5ms);
    ::sem_wait(&released);
    note(client, "m");
  });
  EXPECT_EQ(ran.order, "oowmwww");
  EXPECT_EQ(ran.irreproducible, "");
}

// The caller works on after its call, like one that has yet to let go of the interpreter.
TEST(RankServiceThreads, ThoseThatTheCallerReleasesAfterItsCallAreServedWithIt) {
  const Ran ran = run([](Client& client) {
    sem_t released;
    ::sem_init(&released, 0, 0);
    const SilentThread other = start_silent(
        client, [&released] { ::sem_wait(&released); }, [](Client& own) { note(own, "o"); });
    client.tell(StoreMessage{
        .function = StoreFunction::get, .keys = {"order"}, .values = {}, .threads = {other.id}});
    waiting::work_for(200ms);
    ::sem_post(&released);
    client.receive();
    note(client, "m");
  });
  EXPECT_EQ(ran.order, "om");
  EXPECT_EQ(ran.irreproducible, "");
}

// Its process is looked at again as soon as it has spoken, however long that took.
TEST(RankServiceThreads, OneThatOthersWaitForIsAnsweredAtOnce) {
  const Ran ran = run([](Client& client) {
    sem_t begun;
    sem_t done;
    ::sem_init(&begun, 0, 0);
    ::sem_init(&done, 0, 0);
    Duration fastest = 1000s;
    const std::jthread other = start_thread(client, "other", [&](Client& own) {
      for (int i = 0; i < 3; ++i) {
        ::sem_wait(&begun);
        waiting::work_for(240ms);
        const auto begin = std::chrono::steady_clock::now();
        note(own, "o");
        fastest = std::min<Duration>(fastest, std::chrono::steady_clock::now() - begin);
        ::sem_post(&done);
      }
    });
    for (int i = 0; i < 3; ++i) {
      ::sem_post(&begun);
      ::sem_wait(&done);
      note(client, "m");
    }
    note(client, fastest < 50ms ? " at once" : " late");
  });
  EXPECT_EQ(ran.order, "omomom at once");
}

// However many calls others make meanwhile.
TEST(RankServiceThreads, ThoseThatHaveNotCalledAreWatchedByOneContext) {
  ConductedWorld world({.world_size = 2, .turns = {.patience = 20s}});
  world.fork(0, [](Client& client) {
    std::promise<std::uint32_t> id;
    std::thread([&id] {
      id.set_value(static_cast<std::uint32_t>(::gettid()));
      for (;;) waiting::wait_for_lock();
    }).detach();
    client.set_silent_threads({id.get_future().get()});
    for (int i = 0; i < 3; ++i) client.store({.function = StoreFunction::count});
    client.call(int_recv(1));
  });
  const RunResult result = world.run([](Client&) {});
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  EXPECT_THAT(world.conductor().turns().resting_ranks(), testing::ElementsAre(0));
}

}  // namespace
}  // namespace gang::harness
