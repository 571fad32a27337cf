#include "harness/run/outputs_by_messages.h"

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

// A run in which the receive of rank 0 has taken the message of `sender`.
sim::StepLog run_of(int sender) {
  sim::StepLog log;
  for (const int rank : {1, 2})
    log.accesses.push_back({.kind = sim::AccessKind::message,
                            .rank = rank,
                            .task = static_cast<sim::TaskId>(rank),
                            .operation = static_cast<sim::StepKey>(rank)});
  log.names.resize(3);
  log.taken.push_back({.message = static_cast<sim::StepKey>(sender), .rank = 0});
  return log;
}

TEST(OutputsByMessages, DifferByTheMessageThatCameFirst) {
  OutputsByMessages outputs;
  EXPECT_TRUE(outputs.note(4, 100, run_of(1)));
  EXPECT_FALSE(outputs.note(5, 100, run_of(1)));
  EXPECT_FALSE(outputs.race());
  EXPECT_TRUE(outputs.note(7, 200, run_of(2)));
  const auto race = outputs.race();
  ASSERT_TRUE(race);
  EXPECT_EQ(race->first, 4U);
  EXPECT_EQ(race->second, 7U);
  EXPECT_EQ(race->contest.first.rank, 1);
  EXPECT_EQ(race->contest.second.rank, 2);
}

TEST(OutputsByMessages, DoNotDependOnTheOrderOfNotes) {
  OutputsByMessages outputs;
  outputs.note(7, 200, run_of(2));
  outputs.note(9, 100, run_of(1));
  EXPECT_TRUE(outputs.note(4, 100, run_of(1)));
  const auto race = outputs.race();
  ASSERT_TRUE(race);
  EXPECT_EQ(race->first, 4U);
  EXPECT_EQ(race->second, 7U);
}

TEST(OutputsByMessages, ThatDifferBySomethingElseAreNoRace) {
  OutputsByMessages outputs;
  outputs.note(0, 100, run_of(1));
  outputs.note(1, 200, run_of(1));
  EXPECT_FALSE(outputs.race());
}

TEST(OutputsByMessages, OfManyTheFirstAreKept) {
  OutputsByMessages outputs;
  outputs.note(500, 500, run_of(2));
  for (std::uint64_t i = 0; i < 100; ++i) outputs.note(i, i, run_of(1));
  EXPECT_FALSE(outputs.race());
  EXPECT_FALSE(outputs.note(600, 600, run_of(2)));
  EXPECT_TRUE(outputs.note(1, 700, run_of(2)));
  EXPECT_EQ(outputs.race().value().second, 1U);
}

}  // namespace
}  // namespace gang::harness
