#include "properties/generators/script_case.h"

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
  EXPECT_EQ(report.counts.rank_operations, 4U) << "a split each, and the message";
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
