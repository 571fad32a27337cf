// Tests of gang programs with GoogleTest: a body on N simulated ranks. <gangsim/gtest.h>.
#pragma once

#include <functional>

#include <gtest/gtest.h>

#include "harness/harness.h"

namespace gang::harness {

// Runs `body` on every rank of `specification` and fails the current test, non-fatally, unless it
// holds: the message is the report and the command that repeats the failure. Within `body`, EXPECT_
// and ASSERT_ work as anywhere; ASSERT_ ends the rank's body. Returns the result.
//
// The environment may set what a test leaves open, so that a failure is looked at closer:
// GANGSIM_SEED, GANGSIM_SCHEDULE, GANGSIM_CONTEXT (values as of the gangsim command). A value that
// is not accepted fails the test. GANGSIM_REPORT explains every failure as an HTML page and for
// `gangsim explain`: in FOLDER/Suite.Name.html and .json, or, of the last one, in FILE.html.
RunResult expect_holds(const RunSpecification& specification,
                       const std::function<void(Rank&)>& body);

// The same for `world_size` ranks and otherwise defaults.
RunResult expect_holds(int world_size, const std::function<void(Rank&)>& body);

// The same under every schedule, one run of each class of equivalent ones, until one fails: then
// the message says what decided, too. Fails as well if `most_runs` do not suffice, or if something
// else than the schedule decides (polls, draws, time). Returns the first failure; else only what
// was to be run.
RunResult expect_holds_in_every_schedule(const RunSpecification& specification,
                                         const std::function<void(Rank&)>& body,
                                         std::uint64_t most_runs = 10'000);
RunResult expect_holds_in_every_schedule(int world_size, const std::function<void(Rank&)>& body);

// The specification of a test: world, and what the environment sets.
RunSpecification test_specification(int world_size);

}  // namespace gang::harness

// A test whose body runs on `world` simulated ranks; `rank` is the rank that runs it:
//
//   GANG_TEST(Gradients, AreAveraged, 8) {
//     float gradient = static_cast<float>(rank.rank());
//     rank.root()->all_reduce(gang::view_of(gradient), gang::ReduceOperation::mean);
//     EXPECT_EQ(gradient, 3.5F);
//   }
#define GANG_TEST(suite, name, world)                                                     \
  static void suite##_##name##_on_a_rank([[maybe_unused]] ::gang::harness::Rank& rank);   \
  TEST(suite, name) { ::gang::harness::expect_holds(world, suite##_##name##_on_a_rank); } \
  static void suite##_##name##_on_a_rank([[maybe_unused]] ::gang::harness::Rank& rank)

// The same under every schedule, for small worlds.
#define GANG_TEST_IN_EVERY_SCHEDULE(suite, name, world)                                 \
  static void suite##_##name##_on_a_rank([[maybe_unused]] ::gang::harness::Rank& rank); \
  TEST(suite, name) {                                                                   \
    ::gang::harness::expect_holds_in_every_schedule(world, suite##_##name##_on_a_rank); \
  }                                                                                     \
  static void suite##_##name##_on_a_rank([[maybe_unused]] ::gang::harness::Rank& rank)

// Expects that `body`, a callable with a Rank&, holds on `world` simulated ranks.
#define EXPECT_HOLDS(world, ...) ::gang::harness::expect_holds(world, __VA_ARGS__)
