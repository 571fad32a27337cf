// Tests of what the failure of an exploration is contrasted with.
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/run/exhaustive_runs.h"
#include "harness/run/fault_file.h"
#include "tests/harness/run/first_message_program.h"

namespace gang::harness {
namespace {

Exploration contrasted(const Program& program, const RunSpecification& specification) {
  Exploration exploration;
  run_exhaustively(program, specification, [] { return true; }, exploration);
  return exploration;
}

// When rank 1 has died, rank 0 fails in another way if the first message was of rank `unloved`.
Program forgives_all_but(int unloved) {
  return {.name = "grudge", .description = "", .run = [unloved](Rank& rank) {
            std::int32_t value = 7;
            int first = 0;
            if (rank.rank() >= 2) rank.root()->send(view_of(value), 0);
            if (rank.rank() == 0) first = rank.root()->recv(view_of(value)).source_rank;
            if (rank.rank() == 0) rank.root()->recv(view_of(value));
            try {
              rank.root()->barrier();
            } catch (const GangError&) {
              if (first == unloved) throw std::logic_error("not forgiven");
              throw;
            }
          }};
}

constexpr const char* rank_1_dies = "[[fault]]\nkind = \"crash\"\noperation = 0\nranks = [1]";

TEST(ExhaustiveRunsContrast, OfFaultsIsARunThatContainsThem) {
  for (const int unloved : {2, 3}) {
    const Exploration found =
        contrasted(forgives_all_but(unloved),
                   {.program = "grudge", .world_size = 4, .faults = load_faults(rank_1_dies)});
    ASSERT_TRUE(found.failure);
    EXPECT_FALSE(found.failure->uncontained.empty());
    EXPECT_EQ(found.every->holds_otherwise, true);
    ASSERT_TRUE(found.every->continuations);
    EXPECT_EQ(found.every->continuations->found.end, "not contained");
    EXPECT_EQ(found.every->continuations->otherwise.end, "contained");
  }
}

TEST(ExhaustiveRunsContrast, OfDifferentResultsEndsWithTheRace) {
  const Exploration found =
      contrasted(first_message_program(), {.program = "first", .world_size = 3});
  ASSERT_TRUE(found.failure && found.every->continuations);
  EXPECT_EQ(found.every->continuations->found.end, sim::finding_id::message_race);
  EXPECT_EQ(found.every->continuations->otherwise.end, "completed");
}

}  // namespace
}  // namespace gang::harness
