#include "harness/conductor/key_store.h"

#include "tests/harness/conductor/conducted_world.h"

namespace gang::harness {
namespace {

using namespace conducted;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

StoreMessage setting(const std::string& key, std::string_view value) {
  return {.function = StoreFunction::set, .keys = {key}, .values = {bytes_of(value)}};
}
StoreMessage getting(const std::string& key) {
  return {.function = StoreFunction::get,
          .keys = {key},
          .call_site = CallSite::in_function("train.py\0meet", 5)};
}
StoreMessage about(StoreFunction function, std::vector<std::string> keys = {},
                   std::int64_t number = 0) {
  return {.function = function, .number = number, .keys = std::move(keys)};
}

TEST(KeyStore, KeepsValues) {
  const RunResult result = conduct(1, [](Client& client) {
    EXPECT_EQ(client.store(setting("a", "one")).status, Status::done);
    EXPECT_THAT(texts_of(client.store(getting("a"))), ElementsAre("one"));
    client.store(setting("a", "two"));
    client.store({.function = StoreFunction::append, .keys = {"a"}, .values = {bytes_of("!")}});
    EXPECT_THAT(texts_of(client.store(getting("a"))), ElementsAre("two!"));
    client.store(setting("empty", ""));
    EXPECT_THAT(texts_of(client.store(getting("empty"))), ElementsAre(""));
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(KeyStore, ChecksCountsAndDeletes) {
  const RunResult result = conduct(1, [](Client& client) {
    using enum StoreFunction;
    client.store(setting("a", ""));
    client.store(setting("b", ""));
    EXPECT_EQ(client.store(about(count)).number, 2);
    EXPECT_EQ(client.store(about(check, {"a", "b"})).number, 1);
    EXPECT_EQ(client.store(about(check, {"a", "c"})).number, 0);
    EXPECT_EQ(client.store(about(erase, {"a"})).number, 1);
    EXPECT_EQ(client.store(about(erase, {"a"})).number, 0);
    EXPECT_EQ(client.store(about(check, {"a"})).number, 0);
    EXPECT_EQ(client.store(about(wait, {"b"})).status, Status::done);
    EXPECT_EQ(client.store(about(count)).number, 1);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(KeyStore, Adds) {
  const RunResult result = conduct(1, [](Client& client) {
    using enum StoreFunction;
    EXPECT_EQ(client.store(about(add, {"n"}, 5)).number, 5);
    EXPECT_EQ(client.store(about(add, {"n"}, -7)).number, -2);
    EXPECT_THAT(texts_of(client.store(getting("n"))), ElementsAre("-2"));
    client.store(setting("text", "five"));
    const StoredMessage stored = client.store(about(add, {"text"}, 1));
    EXPECT_EQ(stored.status, Status::invalid_argument);
    EXPECT_THAT(stored.error, HasSubstr("'text'"));
    EXPECT_THAT(texts_of(client.store(getting("text"))), ElementsAre("five"));
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(KeyStore, ComparesAndSets) {
  const RunResult result = conduct(1, [](Client& client) {
    const auto compare_set = [&client](std::string_view expected, std::string_view desired) {
      const StoredMessage stored =
          client.store({.function = StoreFunction::compare_set,
                        .keys = {"k"},
                        .values = {bytes_of(expected), bytes_of(desired)}});
      return std::pair(stored.number, texts_of(stored).at(0));
    };
    EXPECT_EQ(compare_set("", "one"), std::pair(std::int64_t{1}, std::string("one")));
    EXPECT_EQ(compare_set("other", "two"), std::pair(std::int64_t{0}, std::string("one")));
    EXPECT_EQ(compare_set("one", "two"), std::pair(std::int64_t{1}, std::string("two")));
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(KeyStore, IsSharedAndGetsWaitForTheirKey) {
  std::vector<std::string> got;
  const RunResult result = conduct(3, [&got](Client& client) {
    if (client.rank() == 2) {
      std::this_thread::sleep_for(20ms);
      client.store(setting("a", "1"));
      client.store(setting("b", "2"));
    } else if (client.rank() == 1) {
      client.store(about(StoreFunction::wait, {"a", "b"}));
      EXPECT_EQ(client.store(about(StoreFunction::check, {"a", "b"})).number, 1);
    } else {
      got = texts_of(client.store(getting("b")));
    }
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_THAT(got, ElementsAre("2"));
}

TEST(KeyStore, OfAKeyWhatComesAfterAZeroIsShown) {
  using std::string_literals::operator""s;
  const RunResult result = conduct(2, [](Client& client) {
    if (client.rank() == 0) client.store(about(StoreFunction::wait, {"tcp/1\0a"s, "tcp/1\0b"s}));
    client.store(getting("tcp/1\0a"s));
  });
  EXPECT_THAT(ids_of(result), ElementsAre("store_key_missing", "store_key_missing"));
  EXPECT_EQ(result.report.findings.at(0).message,
            "Rank 1 waits for the store's key 'a', which no rank sets.");
  EXPECT_EQ(result.report.findings.at(1).message,
            "Rank 0 waits for the store's keys 'a', 'b', which no rank sets.");
}

TEST(KeyStore, AWaitForAKeyThatNobodySetsIsADeadlock) {
  const RunResult result = conduct(3, [](Client& client) {
    client.set_stack({{{0, "MainThread", {CallSite::in_function("train.py\0meet", 5)}}}});
    if (client.rank() == 0) client.store(getting("rendezvous/7"));
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  EXPECT_THAT(ids_of(result), ElementsAre("store_key_missing"));
  EXPECT_THAT(finding_of(result, "store_key_missing").ranks, ElementsAre(0));
  EXPECT_THAT(finding_of(result, "store_key_missing").message, HasSubstr("'rendezvous/7'"));
  ASSERT_EQ(result.report.blocked.size(), 1U);
  const sim::BlockedCall& blocked = result.report.blocked[0];
  EXPECT_EQ(blocked.rank, 0);
  EXPECT_THAT(to_string(blocked.call), HasSubstr("key 'rendezvous/7'"));
  EXPECT_EQ(to_string(blocked.location), "train.py:5");
  EXPECT_THAT(blocked.waits_for, ElementsAre(1, 2));
  EXPECT_THAT(blocked.call_stack, ElementsAre(SourceLocation{"train.py", 5, "meet"}));
}

TEST(KeyStore, AWaitEndsWithItsTimeoutInVirtualTime) {
  StoredMessage late;
  StoredMessage in_time;
  const RunResult result = conduct(2, [&](Client& client) {
    if (client.rank() == 0) {
      late = client.store({.function = StoreFunction::wait,
                           .keys = {"never", "here"},
                           .timeout = std::chrono::hours(1)});
      client.store(setting("late", ""));
    } else {
      client.store(setting("here", ""));
      in_time = client.store({.function = StoreFunction::wait,
                              .keys = {"late"},
                              .timeout = std::chrono::hours(1) + 1s});
    }
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_EQ(late.status, Status::timeout);
  EXPECT_THAT(late.error, testing::AllOf(HasSubstr("'never'"), HasSubstr("60 min")));
  EXPECT_EQ(in_time.status, Status::done);
  EXPECT_EQ(result.report.virtual_time, Duration(std::chrono::hours(1)));
}

TEST(KeyStore, OnlyTheKeysThatAreMissingAreNamed) {
  const RunResult result = conduct(2, [](Client& client) {
    client.store(setting("here", ""));
    client.store(about(StoreFunction::wait, {"x", "here", "y"}));
  });
  ASSERT_EQ(result.report.blocked.size(), 2U);
  EXPECT_THAT(to_string(result.report.blocked[0].call), HasSubstr("keys 'x', 'y'"));
  EXPECT_EQ(finding_of(result, "store_key_missing").message,
            "Ranks 0-1 wait for the store's keys 'x', 'y', which no rank sets.");
}

TEST(KeyStore, SaysWhichKeysWereNotSetInTime) {
  const auto error_of = [](std::vector<std::string> keys) {
    std::string error;
    conduct(1, [&](Client& client) {
      StoreMessage timed = about(StoreFunction::wait, keys);
      timed.timeout = 1s;
      error = client.store(timed).error;
    });
    return error;
  };
  EXPECT_THAT(error_of({"a"}), testing::StartsWith("the store's key 'a' was not set within "));
  EXPECT_THAT(error_of({"a", "b"}),
              testing::StartsWith("the store's keys 'a', 'b' were not set within "));
}

// A program may ask in a loop instead of waiting.
TEST(KeyStore, ALoopOfChecksEndsWhenTheKeyComes) {
  const RunResult result = conduct(2, [](Client& client) {
    if (client.rank() == 1) {
      std::this_thread::sleep_for(5ms);
      client.store(setting("k", ""));
    } else {
      while (client.store(about(StoreFunction::check, {"k"})).number == 0) {
      }
    }
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(KeyStore, ALoopOfChecksInVainIsADeadlockSoon) {
  const auto begun = std::chrono::steady_clock::now();
  std::uint64_t checks = 0;
  const RunResult result = conduct(2, [&checks](Client& client) {
    if (client.rank() == 0)
      while (client.store(about(StoreFunction::check, {"k"})).number == 0) ++checks;
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  EXPECT_GE(checks, 1000U);  // a program may stop after some
  EXPECT_LE(checks, 4001U);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10s);
}

// The answer of each is that of the loop before, until the other rank sets the key.
TEST(KeyStore, ALoopOfAnyQuestionEndsWhenTheKeyComes) {
  const StoreMessage compares{.function = StoreFunction::compare_set,
                              .keys = {"n"},
                              .values = {bytes_of("1"), bytes_of("1")}};
  for (const StoreMessage& question :
       {about(StoreFunction::add, {"n"}), about(StoreFunction::count), compares}) {
    KeyStore store;
    const sim::Report report =
        sim::Simulation({.world_size = 2, .step_limit = 1'000}).run([&](sim::SimulatedRank& rank) {
          if (rank.rank() == 1) return void(store.perform(setting("n", "1"), rank));
          while (store.perform(question, rank).number == 0) {
          }
        });
    EXPECT_TRUE(report.holds()) << static_cast<int>(question.function);
  }
}

TEST(KeyStore, IsEmptyInTheNextRun) {
  for (int i = 0; i < 2; ++i)
    conduct(1, [](Client& client) {
      EXPECT_EQ(client.store(about(StoreFunction::count)).number, 0);
      client.store(setting("k", ""));
    });
}

// Who is first is the scheduler's choice, not that of who is faster.
TEST(KeyStore, ARaceForAKeyIsDecidedByTheSchedule) {
  const auto winner = [](std::uint64_t seed, int slow_rank) {
    std::string value;
    conduct({.world_size = 4, .schedule = ScheduleChoice::random, .seed = seed},
            [&](Client& client) {
              if (client.rank() == slow_rank) std::this_thread::sleep_for(10ms);
              client.store({.function = StoreFunction::compare_set,
                            .keys = {"winner"},
                            .values = {{}, bytes_of(std::to_string(client.rank()))}});
              if (client.rank() == 0) value = texts_of(client.store(getting("winner"))).at(0);
            });
    return value;
  };
  std::set<std::string> winners;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    winners.insert(winner(seed, 0));
    EXPECT_EQ(winner(seed, 1), winner(seed, 2));
  }
  EXPECT_GT(winners.size(), 1U);
}

TEST(KeyStore, OnlyWhoStillWaitsIsNamedByPlace) {
  const RunResult result = conduct(4, [](Client& client) {
    if (client.rank() == 3) return void(client.store(setting("a", "")));
    client.store(getting("a"));
    if (client.rank() == 2) return;
    StoreMessage never = getting("never");
    never.call_site = CallSite::at(never.call_site.file(), client.rank() == 0 ? 8 : 9);
    client.store(never);
  });
  EXPECT_THAT(ids_of(result), ElementsAre("store_key_missing", "store_key_missing"));
  std::map<std::string, std::vector<int>> ranks;
  for (const sim::Finding& finding : result.report.findings) {
    ranks[to_string(finding.location)] = finding.ranks;
    EXPECT_EQ(finding.certainty, result.report.certainty);
  }
  EXPECT_EQ(ranks,
            (std::map<std::string, std::vector<int>>{{"train.py:8", {0}}, {"train.py:9", {1}}}));
}

TEST(KeyStore, RanksThatWaitForOneKeyAreOneFinding) {
  const RunResult result = conduct(6, [](Client& client) { client.store(getting("never")); });
  EXPECT_THAT(ids_of(result), ElementsAre("store_key_missing"));
  EXPECT_THAT(finding_of(result, "store_key_missing").ranks, ElementsAre(0, 1, 2, 3, 4, 5));
}

// In which schedules a run ends as it did in which rank 0 asked the store this.
std::optional<sim::Schedules> schedules_with(const StoreMessage& message) {
  const RunResult result = conduct(2, [&message](Client& client) {
    if (client.rank() == 1) return;
    client.store(setting("here", ""));
    client.store(message);
    client.store(getting("never"));
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  if (!result.report.certainty) return std::nullopt;
  return result.report.certainty->schedules;
}

TEST(KeyStore, AnAnswerThatDependsOnTheOthersIsAChoice) {
  using enum StoreFunction;
  EXPECT_EQ(schedules_with(setting("k", "")), sim::Schedules::every);
  StoreMessage timed = about(wait, {"k"});
  timed.timeout = 1s;
  StoreMessage differing{.function = compare_set,
                         .keys = {"k"},
                         .values = {bytes_of("expected"), bytes_of("desired")}};
  for (const StoreMessage& message : {about(check, {"here"}), about(count), about(add, {"k"}, 1),
                                      about(erase, {"k"}), timed, differing})
    EXPECT_NE(schedules_with(message), sim::Schedules::every) << static_cast<int>(message.function);
}

}  // namespace
}  // namespace gang::harness
