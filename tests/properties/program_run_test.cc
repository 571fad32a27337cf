#include "properties/program_run.h"

#include "gang/fake_gang.h"
#include "properties/program_memory.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

GangProgram program_of(int world, std::vector<Step> steps) {
  GangProgram program;
  program.world = world;
  program.steps = std::move(steps);
  return program;
}

class EveryForm : public ::testing::TestWithParam<Form> {};

TEST_P(EveryForm, LeavesWhatTheModelSays) {
  for (const OperationKind kind : {OperationKind::all_reduce, OperationKind::gather,
                                   OperationKind::recv, OperationKind::batch}) {
    const Step step{.kind = kind, .form = GetParam(), .count = 3, .root = 1};
    const GangProgram program = program_of(4, {step, {.kind = OperationKind::barrier}});
    const ProgramMemory memory(program);
    const ProgramRun run = run_program(memory, options_of(program), {});
    EXPECT_TRUE(run.report.holds()) << to_string(run.report);
    EXPECT_FALSE(memory.first_difference(expected_image(memory), run.image));
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, EveryForm,
                         ::testing::Values(Form::blocking, Form::start_wait, Form::start_test,
                                           Form::start_later));

TEST(ProgramRun, CountsEveryStepOfEveryRank) {
  const GangProgram program = program_of(
      3, {{.kind = OperationKind::barrier}, {.kind = OperationKind::broadcast, .count = 1}});
  const ProgramMemory memory(program);
  EXPECT_EQ(run_program(memory, options_of(program), {}).report.counts.rank_operations, 6U);
}

TEST(ProgramRun, UsesTheSubjectsGangs) {
  const GangProgram program =
      program_of(2, {{.kind = OperationKind::all_reduce, .count = 1, .in_place = true}});
  const ProgramMemory memory(program);
  const ProgramRun run =
      run_program(memory, options_of(program), corrupting(OperationKind::all_reduce));
  EXPECT_TRUE(memory.first_difference(expected_image(memory), run.image));
}

TEST(ProgramRun, RunsOnAnyBackend) {
  const GangProgram program = program_of(1, {{.kind = OperationKind::all_gather, .count = 2},
                                             {.kind = OperationKind::all_reduce, .count = 2}});
  const ProgramMemory memory(program);
  Image image = memory.initial_image();
  run_rank(memory, make_fake_gang(), {}, image);
  EXPECT_FALSE(memory.first_difference(expected_image(memory), image));
}

}  // namespace
}  // namespace gang::properties
