#include "properties/generators/mutant.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::properties {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two steps of every rank on the root, and one of a pair.
Mutant mutant_of(Mutation mutation) {
  Mutant mutant;
  mutant.program.world = 4;
  mutant.program.nodes.push_back({.making = Making::create_gang, .ranks = {1, 3}});
  mutant.program.steps = {{.kind = OperationKind::all_reduce, .count = 2},
                          {.node = 1, .kind = OperationKind::broadcast, .count = 3},
                          {.kind = OperationKind::batch, .count = 1}};
  mutant.mutation = mutation;
  mutant.rank = 1;
  return mutant;
}

std::vector<int> ids_of(const GangProgram& program) {
  std::vector<int> ids;
  for (std::size_t i = 0; i < program.steps.size(); ++i) ids.push_back(id_of(program, i));
  return ids;
}

TEST(Mutant, KeepsTheIdsOfTheStepsThatAreLeft) {
  EXPECT_THAT(ids_of(*mistaken_program(mutant_of(Mutation::skip))), ElementsAre(1, 2));
  EXPECT_THAT(ids_of(*mistaken_program(mutant_of(Mutation::duplicate))), ElementsAre(0, 0, 1, 2));
  EXPECT_THAT(ids_of(*mistaken_program(mutant_of(Mutation::swap))), ElementsAre(1, 0, 2));
  EXPECT_THAT(mistaken_steps(mutant_of(Mutation::swap)), ElementsAre(0, 1));
}

TEST(Mutant, SwapsWithTheNextStepThatTheRankTakesPartIn) {
  Mutant mutant = mutant_of(Mutation::swap);
  mutant.rank = 0;
  EXPECT_THAT(ids_of(*mistaken_program(mutant)), ElementsAre(2, 1, 0));
  mutant.step = 2;
  EXPECT_FALSE(mistaken_program(mutant));
}

TEST(Mutant, MakesTheCallOnAnotherGangOfTheRank) {
  EXPECT_EQ(mistaken_program(mutant_of(Mutation::other_gang))->steps[0].node, 1);
  Mutant outsider = mutant_of(Mutation::other_gang);
  outsider.rank = 0;
  EXPECT_FALSE(mistaken_program(outsider));
}

TEST(Mutant, IsNoneWhereTheRankTakesNoPart) {
  Mutant mutant = mutant_of(Mutation::skip);
  mutant.rank = 2;
  mutant.step = 1;
  EXPECT_FALSE(mistaken_program(mutant));
}

TEST(Mutant, ChangesWhatTheMutationSays) {
  const auto first = [](Mutation mutation) {
    return mistaken_program(mutant_of(mutation))->steps.front();
  };
  EXPECT_NE(first(Mutation::other_type).data_type, DataType::i32);
  EXPECT_EQ(first(Mutation::other_count).count, 3);
  EXPECT_NE(first(Mutation::other_reduction).reduce_operation, ReduceOperation::sum);
  EXPECT_NE(first(Mutation::other_kind).kind, OperationKind::all_reduce);
  EXPECT_EQ(first(Mutation::forgotten_wait).form, Form::drop_work);
  EXPECT_EQ(first(Mutation::early_reuse).form, Form::touch_buffer);
  Mutant rooted = mutant_of(Mutation::other_root);
  EXPECT_FALSE(mistaken_program(rooted));
  rooted.step = 1;
  EXPECT_EQ(mistaken_program(rooted)->steps[1].root, 1);
}

TEST(VisibleCalls, AreThoseThatOthersSee) {
  const VisibleCalls calls = visible_calls(mutant_of(Mutation::skip).program, 1);
  ASSERT_EQ(calls.size(), 4U);
  EXPECT_EQ(calls.at("gang 0").front().text, "all_reduce i32[2] sum");
  EXPECT_EQ(calls.at("gang 1").front().text, "broadcast i32[3] root 0");
  EXPECT_EQ(calls.at("gang 0 to 2 tag 2").front().text, "i32[1]");
  EXPECT_EQ(calls.at("gang 0 from 0 tag 2").front().id, 2);
}

TEST(GenerateMutant, MakesEveryMistakeInWorldsSmallAndLarge) {
  sim::RandomStream random(1, "mutants");
  Draw draw{random, 100, 16};
  std::set<Mutation> mutations;
  int largest = 0;
  for (int i = 0; i < 3000; ++i) {
    const Mutant mutant = generate_mutant(draw);
    mutations.insert(mutant.mutation);
    EXPECT_GE(mutant.program.world, 4);
    largest = std::max(largest, mutant.program.world);
  }
  EXPECT_EQ(mutations.size(), std::size(all_mutations));
  EXPECT_GT(largest, 128);
}

TEST(ToText, SaysWhoMakesWhichMistake) {
  EXPECT_THAT(to_text(mutant_of(Mutation::skip)), HasSubstr("rank 1 leaves out step 0"));
}

TEST(Shrinks, NeverContainTheMutantItself) {
  const Mutant mutant = mutant_of(Mutation::swap);
  for (const Mutant& simpler : shrinks(mutant)) EXPECT_FALSE(simpler == mutant);
}

}  // namespace
}  // namespace gang::properties
