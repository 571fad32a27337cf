#include "properties/generators/script_case.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::properties {
namespace {

ScriptCase one_message() {
  return {.calls = {{{.kind = ScriptedKind::send, .peer = 1, .tag = 1, .count = 2}},
                    {{.kind = ScriptedKind::receive, .peer = 0, .tag = 1, .count = 2}}}};
}

TEST(ScriptCase, RunsTheCallsOfEachRank) {
  const ScriptCase script = one_message();
  const sim::Report report = sim::Simulation({.world_size = 2}).run(program_of(script));
  EXPECT_TRUE(report.holds()) << to_string(report);
  EXPECT_EQ(report.counts.rank_operations, 2U) << "no pairs, only the message";
}

TEST(ScriptCase, IsShownInLines) {
  EXPECT_EQ(to_text(one_message()),
            "2 ranks\nrank 0: send to 1 tag 1 of 2;\nrank 1: receive from 0 tag 1 of 2;\n");
}

TEST(ScriptCase, ShrinksToSimplerOnesOnly) {
  for (const ScriptCase& simpler : shrinks(one_message())) EXPECT_NE(simpler, one_message());
  EXPECT_FALSE(shrinks(one_message()).empty());
}

TEST(ScriptCase, MessagesAreAllSentAndReceived) {
  sim::RandomStream random(1, "script", 0);
  for (int i = 0; i < 100; ++i) {
    Draw draw{random, 100, 8};
    const ScriptCase script = generate_shuffled_messages(draw);
    std::size_t sends = 0;
    std::size_t calls = 0;
    for (const auto& of_rank : script.calls)
      for (const ScriptedCall& call : of_rank) {
        ++calls;
        if (call.kind == ScriptedKind::send) ++sends;
      }
    EXPECT_EQ(calls, 2 * sends);
  }
}

TEST(ScriptCase, WhatARankSawDecidesHowItEnds) {
  // Rank 0 takes the message of rank 1, which has an odd number.
  ScriptCase script{.calls = {{{.kind = ScriptedKind::receive_any}},
                              {{.kind = ScriptedKind::send, .peer = 0}},
                              {}}};
  const auto outcome = [&script] {
    return sim::Simulation({.world_size = 3}).run(program_of(script)).outcome;
  };
  EXPECT_EQ(outcome(), sim::Outcome::completed);
  script.ends_by_what_it_saw = true;
  EXPECT_EQ(outcome(), sim::Outcome::deadlock);
}

TEST(ScriptCase, ChoicesDecideTheEndOfSomeWorlds) {
  std::size_t differing = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    sim::RandomStream random(seed, "script", 0);
    Draw draw{random, 100, 8};
    const ScriptCase script = generate_choices(draw);
    std::set<std::vector<int>> ends;
    for (std::uint64_t schedule = 1; schedule <= 20; ++schedule) {
      const sim::Report report =
          sim::Simulation({.world_size = static_cast<int>(script.calls.size()),
                           .seed = schedule,
                           .scheduler = sim::SchedulerKind::random})
              .run(program_of(script));
      ends.insert(report.findings.empty() ? std::vector<int>{} : report.findings.front().ranks);
    }
    if (ends.size() > 1) ++differing;
  }
  EXPECT_GT(differing, 10U);
  EXPECT_LT(differing, 90U);
}

TEST(ScriptCase, EqualDrawsGiveEqualCases) {
  const auto generate = [] {
    sim::RandomStream random(1, "script", 0);
    Draw draw{random, 100, 8};
    return generate_script(draw);
  };
  EXPECT_EQ(generate(), generate());
}

}  // namespace
}  // namespace gang::properties
