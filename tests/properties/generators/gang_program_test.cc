#include "properties/generators/gang_program.h"

#include <set>

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

using ::testing::ElementsAre;

TEST(MembersOf, KeepsTheOrderOfCreateGang) {
  GangProgram program;
  program.world = 4;
  program.nodes.push_back(
      {.making = Making::create_gang, .parent = 0, .ranks = {3, 0, 9}, .colors = {}, .keys = {}});
  EXPECT_THAT(members_of(program)[1], ElementsAre(ElementsAre(3, 0)));  // 9 is beyond the world
}

TEST(MembersOf, OrdersSplitsByKeyThenParentRank) {
  GangProgram program;
  program.world = 5;
  program.nodes.push_back(
      {.making = Making::split, .parent = 0, .ranks = {}, .colors = {0, 1}, .keys = {1, 0, 0}});
  // Ranks 0, 2, 4 have colour 0 with keys 1, 0, 0; ranks 1 and 3 colour 1 with keys 0 and 1.
  EXPECT_THAT(members_of(program)[1], ElementsAre(ElementsAre(2, 4, 0), ElementsAre(1, 3)));
}

TEST(MembersOf, GangsOfGangsAreMadeInEveryGangOfTheParent) {
  GangProgram program;
  program.world = 4;
  program.nodes.push_back(
      {.making = Making::split, .parent = 0, .ranks = {}, .colors = {0, 1}, .keys = {0}});
  program.nodes.push_back(
      {.making = Making::create_gang, .parent = 1, .ranks = {1}, .colors = {}, .keys = {}});
  EXPECT_THAT(members_of(program)[2], ElementsAre(ElementsAre(2), ElementsAre(3)));
}

TEST(MembersOf, RanksWithoutColourAreInNoGang) {
  GangProgram program;
  program.world = 3;
  program.nodes.push_back(
      {.making = Making::split, .parent = 0, .ranks = {}, .colors = {-1}, .keys = {0}});
  EXPECT_TRUE(members_of(program)[1].empty());
}

TEST(GenerateProgram, CoversEveryKindTypeReductionFormAndRunChoice) {
  sim::RandomStream random(1, "programs");
  Draw draw{random, 100, 16};
  std::set<OperationKind> kinds;
  std::set<DataType> types;
  std::set<ReduceOperation> operations;
  std::set<Form> forms;
  std::set<sim::SchedulerKind> schedulers;
  std::set<sim::ExecutionModel> models;
  bool is_empty_seen = false;
  for (int i = 0; i < 500; ++i) {
    const GangProgram program = generate_program(draw);
    EXPECT_LE(program.world, 16);
    schedulers.insert(program.run.scheduler);
    models.insert(program.run.execution);
    for (const Step& step : program.steps) {
      EXPECT_TRUE(is_defined(step.reduce_operation, step.data_type));
      EXPECT_LT(step.node, static_cast<int>(program.nodes.size()));
      kinds.insert(step.kind);
      types.insert(step.data_type);
      operations.insert(step.reduce_operation);
      forms.insert(step.form);
      is_empty_seen = is_empty_seen || step.count == 0;
    }
  }
  EXPECT_EQ(kinds.size(), all_operation_kinds.size() - 2);  // create_gang and split are nodes
  EXPECT_EQ(types.size(), all_data_types.size());
  EXPECT_EQ(operations.size(), all_reduce_operations.size());
  EXPECT_EQ(forms.size(), 4U);
  EXPECT_EQ(schedulers.size(), 2U);
  EXPECT_EQ(models.size(), 2U);
  EXPECT_TRUE(is_empty_seen);
}

TEST(GenerateProgram, IsAFunctionOfTheStream) {
  sim::RandomStream one(7, "programs");
  sim::RandomStream other(7, "programs");
  Draw first{one, 50, 16};
  Draw second{other, 50, 16};
  EXPECT_EQ(generate_program(first), generate_program(second));
}

}  // namespace
}  // namespace gang::properties
