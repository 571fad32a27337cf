// Works of a rank: waiting for them, testing and dropping them.
#include <chrono>
#include <future>

#include "harness/conductor/rank_service.h"
#include "tests/harness/conductor/conducted_world.h"
#include "tests/harness/conductor/int_operations.h"

namespace gang::harness {
namespace {

using namespace conducted;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(RankServiceWorks, AWorkIsCompleteOnceTheOthersHaveCome) {
  const RunResult result = conduct(2, [](Client& client) {
    if (client.rank() == 0) {
      const std::uint64_t work = client.start(int_sum(1));
      EXPECT_FALSE(client.test(work));
      client.call(int_send(1, 0));
      while (!client.test(work)) {
      }
      EXPECT_THAT(client.wait(work).values<std::int32_t>(), ElementsAre(3));
    } else {
      client.call(int_recv(0));
      EXPECT_EQ(sum(client, 2), 3);
    }
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankServiceWorks, ManyWorksAreAnsweredInTheOrderOfTheWait) {
  const RunResult result = conduct(2, [](Client& client) {
    std::vector<std::uint64_t> works;
    for (const int value : {1, 2, 3}) works.push_back(client.start(int_sum(value)));
    std::vector<std::int32_t> sums;
    for (const OperationResult& done : client.wait({works[2], works[0], works[1]}))
      sums.push_back(done.values<std::int32_t>().at(0));
    EXPECT_THAT(sums, ElementsAre(6, 2, 4));
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankServiceWorks, OneOfManyWorksIsEnough) {
  const RunResult result = conduct(3, [](Client& client) {
    if (client.rank() == 0) {
      const std::vector<std::uint64_t> works = {client.start(int_recv(1)),
                                                client.start(int_recv(2))};
      EXPECT_EQ(client.wait_any(works), 1U);  // rank 1 sends only once it is told
      EXPECT_THAT(client.wait(works[1]).values<std::int32_t>(), ElementsAre(20));
      client.call(int_send(1, 0));
      EXPECT_EQ(client.wait_any({works[0]}), 0U);
      EXPECT_EQ(client.wait_any({works[0]}), 0U);  // it stays complete
      EXPECT_THAT(client.wait(works[0]).values<std::int32_t>(), ElementsAre(10));
    } else {
      if (client.rank() == 1) client.call(int_recv(0));
      client.call(int_send(0, 10 * client.rank()));
    }
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

// Rank 1 sends what the second work receives once rank 0 has waited in vain for both.
void wait_in_vain(Client& client) {
  const StoreMessage go{.function = StoreFunction::wait, .keys = {"go"}, .timeout = 3600s};
  if (client.rank() == 1) {
    client.call(int_send(0, 1));
    client.store(go);
    client.call(int_send(0, 2));
    return;
  }
  const std::vector<std::uint64_t> works = {client.start(int_recv(1)), client.start(int_recv(1))};
  EXPECT_THAT(client.wait_for(works, 5s), IsEmpty());
  EXPECT_THAT(client.wait_for({works[1]}, 5s), IsEmpty());
  StoreMessage set{.function = StoreFunction::set, .keys = {"go"}};
  set.values.resize(1);
  client.store(set);
  const std::vector<OperationResult> both = client.wait_for(works, 5s);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_THAT(both[0].values<std::int32_t>(), ElementsAre(1));
  EXPECT_THAT(both[1].values<std::int32_t>(), ElementsAre(2));
}

TEST(RankServiceWorks, AWaitMayBeLimitedAndRepeated) {
  const RunResult result =
      conduct({.world_size = 2, .pending_timeouts = sim::PendingTimeouts::fire}, wait_in_vain);
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(result.report.virtual_time, 10s);
}

TEST(RankServiceWorks, AnErrorIsOneOfManyEndsToo) {
  const RunResult result = conduct(2, [](Client& client) {
    const std::uint64_t good = client.start(int_sum(1));
    const std::uint64_t wrong = client.start(int_send(7, 0));
    EXPECT_EQ(client.wait_any({good, wrong}), 1U);
    EXPECT_EQ(client.wait(wrong).status, Status::invalid_argument);
    EXPECT_THAT(client.wait(good).values<std::int32_t>(), ElementsAre(2));
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankServiceWorks, AWaitForAnyThatCannotEndIsADeadlock) {
  const RunResult result = conduct(2, [](Client& client) {
    if (client.rank() == 1) return;
    client.wait_any({client.start(int_recv(1)), client.start(int_sum(1))});
  });
  EXPECT_FALSE(result.holds());
  ASSERT_EQ(result.report.blocked.size(), 1U);
  EXPECT_EQ(result.report.blocked.front().rank, 0);
  EXPECT_TRUE(result.report.blocked.front().waits_for_any);
}

TEST(RankServiceWorks, ADroppedWorkIsAFinding) {
  const RunResult result = conduct(2, [](Client& client) {
    const std::uint64_t work = client.start(int_sum(1));
    if (client.rank() == 0)
      client.tell(DropMessage{work, {}});
    else
      client.wait(work);
  });
  EXPECT_THAT(ids_of(result), ElementsAre("unwaited_work"));
  EXPECT_THAT(finding_of(result, "unwaited_work").ranks, ElementsAre(0));
  EXPECT_EQ(to_string(finding_of(result, "unwaited_work").location), "train.py:7");
}

TEST(RankServiceWorks, AWorkThatWasCompleteMayBeDropped) {
  const RunResult result = conduct(2, [](Client& client) {
    const std::uint64_t work = client.start(int_sum(1));
    while (!client.test(work)) {
    }
    client.tell(DropMessage{work, {}});
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankServiceWorks, TheNumberOfADroppedWorkIsFree) {
  const RunResult result = conduct(2, [](Client& client) {
    OperationMessage again = int_sum(2);
    again.id = client.start(int_sum(1));
    while (!client.test(again.id)) {
    }
    client.tell(DropMessage{again.id, {}});
    client.tell(again);
    EXPECT_EQ(client.wait(again.id).values<std::int32_t>(), std::vector{4});
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankServiceWorks, AWorkThatTheProgramForgotIsAFinding) {
  const RunResult result = conduct(2, [](Client& client) {
    const std::uint64_t work = client.start(int_sum(1));
    if (client.rank() == 0) client.wait(work);
  });
  EXPECT_THAT(ids_of(result), ElementsAre("unwaited_work"));
  EXPECT_THAT(finding_of(result, "unwaited_work").ranks, ElementsAre(1));
}

// A connection's frames are taken in their order, but not those of two connections.
TEST(RankServiceWorks, AWaitOrTestThatComesBeforeItsStartWaitsForIt) {
  for (const bool tests : {false, true}) {
    const RunResult result = conduct(1, [tests](Client& client) {
      constexpr std::uint64_t id = 1ULL << 42U;
      std::promise<void> waits;
      const std::jthread other = start_thread(client, "other", [&](Client& own) {
        waits.set_value();
        if (tests)
          while (!own.test(id)) {
          }
        EXPECT_THAT(own.wait(id).values<std::int32_t>(), ElementsAre(5));
      });
      waits.get_future().wait();
      std::this_thread::sleep_for(20ms);
      for (int i = 0; i < 5; ++i) client.store({.function = StoreFunction::count});
      OperationMessage message = int_sum(5);
      message.id = id;
      client.tell(message);
    });
    EXPECT_TRUE(result.holds()) << to_string(result);
  }
}

TEST(RankServiceWorks, AWaitForAnOperationThatNoThreadStartsIsADeadlock) {
  std::jthread other;
  const RunResult result = conduct(1, [&other](Client& client) {
    other = start_thread(client, "other", [](Client& own) { own.wait(1ULL << 42U); });
    client.store({.function = StoreFunction::get, .keys = {"never"}});
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  const auto blocked =
      std::ranges::find(result.report.blocked, "other", &sim::BlockedCall::context);
  ASSERT_NE(blocked, result.report.blocked.end());
  EXPECT_THAT(to_string(blocked->call), HasSubstr("operation 4398046511104"));
}

// Both get the result; neither before it is there.
TEST(RankServiceWorks, TwoThreadsMayWaitForOneWork) {
  const RunResult result = conduct(2, [](Client& client) {
    if (client.rank() == 1) {
      client.call(int_recv(0));
      EXPECT_EQ(sum(client, 2), 3);
      return;
    }
    const std::uint64_t work = client.start(int_sum(1));
    const auto wait = [work](Client& own) {
      EXPECT_THAT(own.wait(work).values<std::int32_t>(), ElementsAre(3));
    };
    const std::jthread other = start_thread(client, "other", wait);
    const std::jthread sender = start_thread(client, "sender", [](Client& own) {
      OperationMessage message = int_send(1, 0);
      std::this_thread::sleep_for(20ms);
      for (int i = 0; i < 9; ++i) own.store({.function = StoreFunction::count});
      own.call(message);
    });
    wait(client);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

// Main waits, with a timeout, for what another thread does after its second start: neither has it
// been seen to go on by itself, nor does whoever has just spoken.
TEST(RankServiceWorks, AStartLetsTheOtherThreadsOfItsProcessGoOn) {
  ConductedWorld world({.world_size = 1});
  world.fork(0, [](Client& client) {
    std::promise<void> has_started;
    const std::jthread other = start_thread(client, "other", [&has_started](Client& own) {
      sum(own, 1);
      std::vector<std::uint64_t> works;
      for (int i = 0; i < 2; ++i) {
        works.push_back(own.start(int_sum(1)));
        std::this_thread::sleep_for(200ms);
      }
      has_started.set_value();
      std::this_thread::sleep_for(200ms);
      own.wait(works);
    });
    has_started.get_future().wait_for(1000s);
    sum(client, 1);
  });
  const RunResult result = world.run([](Client&) {});
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(result.report.counts.rank_operations, 4U);
  EXPECT_EQ(world.conductor().turns().irreproducible(), "");
}

}  // namespace
}  // namespace gang::harness
