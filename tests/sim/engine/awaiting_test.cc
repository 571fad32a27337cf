#include "sim/engine/awaiting.h"

#include "sim/state/world.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// What a rank waits for: something of the ranks given.
class Letter final : public AwaitedMessage {
 public:
  explicit Letter(std::vector<int> from) : from_(std::move(from)) {}

  std::vector<int> awaited_ranks() const override { return from_; }
  bool takes_any() const override { return true; }
  const Collective* call() const override { return nullptr; }
  const GangInfo* gang() const override { return nullptr; }
  std::string describe() const override { return "wait for a letter"; }
  CallSite call_site() const override { return CallSite::at("post.cc", 8); }

 private:
  std::vector<int> from_;
};

TEST(Awaiting, WakesOnlyThoseWhoseMessageHasCome) {
  int letters = 0;
  std::vector<int> own_looks(3);
  const Report report = run(3, [&](SimulatedRank& rank) {
    if (rank.rank() == 2) {
      rank.runtime().sleep_for(5ms);
      for (int i = 0; i < 3; ++i) {
        rank.announce();
        rank.runtime().sleep_for(1ms);
      }
      letters = 2;
      return rank.announce();
    }
    const Letter letter({2});
    const Engine& engine = rank.world().engine;
    const Task& self = engine.current();
    rank.await(letter, [&] {
      if (&engine.current() == &self) ++own_looks[static_cast<std::size_t>(rank.rank())];
      return letters > rank.rank();
    });
  });
  EXPECT_TRUE(report.holds());
  EXPECT_THAT(own_looks, ElementsAre(2, 2, 0));  // before it waits, and when it has come
}

TEST(Awaiting, BlocksUntilTheMessageHasCome) {
  int letters = 0;
  std::vector<int> seen(3);
  const Report report = run(3, [&](SimulatedRank& rank) {
    if (rank.rank() == 2) {
      rank.runtime().sleep_for(5ms);
      for (int i = 0; i < 2; ++i) {
        ++letters;
        rank.announce();
        rank.runtime().sleep_for(1ms);
      }
      return;
    }
    const Letter letter({2});
    rank.await(letter, [&] { return letters > rank.rank(); });
    seen[static_cast<std::size_t>(rank.rank())] = letters;
  });
  EXPECT_TRUE(report.holds());
  EXPECT_EQ(seen[0], 1);
  EXPECT_EQ(seen[1], 2);
}

TEST(Awaiting, DoesNotBlockForWhatHasCome) {
  const Report report =
      run(1, [](SimulatedRank& rank) { rank.await(Letter({0}), [] { return true; }); });
  EXPECT_TRUE(report.holds());
}

TEST(Awaiting, EndsAfterItsTimeoutInVirtualTime) {
  Awaited awaited{};
  Duration waited{0};
  const Report report = run(2, [&](SimulatedRank& rank) {
    if (rank.rank() == 1) return rank.root()->barrier();
    awaited = rank.await(
        Letter({1}), [] { return false; }, rank.deadline_after(std::chrono::minutes(10)));
    waited = rank.runtime().now();
    rank.root()->barrier();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_EQ(awaited, Awaited::too_late);
  EXPECT_EQ(waited, Duration(std::chrono::minutes(10)));
}

// Of a letter that comes after 2 s.
Awaited awaited_for(Duration timeout) {
  bool letter_is_there = false;
  Awaited awaited{};
  const Report report = run(2, [&](SimulatedRank& rank) {
    if (rank.rank() == 1) {
      rank.runtime().sleep_for(1s);
      rank.announce();  // of something else
      rank.runtime().sleep_for(1s);
      letter_is_there = true;
      rank.announce();
      return;
    }
    awaited =
        rank.await(Letter({1}), [&] { return letter_is_there; }, rank.deadline_after(timeout));
    EXPECT_EQ(rank.runtime().now(), Duration(std::min<Duration>(timeout, 2s)));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
  return awaited;
}

TEST(Awaiting, WhatComesBeforeTheTimeoutHasCome) {
  EXPECT_EQ(awaited_for(2500ms), Awaited::in_time);
  EXPECT_EQ(awaited_for(1500ms), Awaited::too_late);
  EXPECT_NE(awaited_for(2s), Awaited::in_time);
}

TEST(Awaiting, WhatNobodySendsIsADeadlockThatSaysWhatAndWhere) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 1) rank.await(Letter({0, 2}), [] { return false; });
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  ASSERT_THAT(blocked_ranks(report), ElementsAre(1));
  EXPECT_EQ(report.blocked[0].call.kind, "wait for a letter");
  EXPECT_EQ(to_string(report.blocked[0].location), "post.cc:8");
  EXPECT_THAT(report.blocked[0].waits_for, ElementsAre(0, 2));
}

TEST(Awaiting, AnAnnouncementOfSomethingElseChangesNothing) {
  int asked = 0;
  const Report report = run(2, [&asked](SimulatedRank& rank) {
    if (rank.rank() == 1) return rank.announce();
    rank.await(Letter({1}), [&asked] { return ++asked > 100; });
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace gang::sim
