#include "properties/fake_gang_agrees.h"

#include "properties/program_verdict.h"

namespace gang::properties {
namespace {

// What a fake gang can do for any rank. It has no other rank's memory, so scattering or
// broadcasting objects from another rank means nothing to it.
const std::vector<OperationKind> fake_kinds = {OperationKind::all_reduce,
                                               OperationKind::reduce,
                                               OperationKind::reduce_scatter,
                                               OperationKind::scan,
                                               OperationKind::exclusive_scan,
                                               OperationKind::all_gather,
                                               OperationKind::all_gather_to_list,
                                               OperationKind::gather,
                                               OperationKind::all_to_all,
                                               OperationKind::broadcast,
                                               OperationKind::barrier,
                                               OperationKind::monitored_barrier};

GangProgram generate_for_fakes(Draw& draw) {
  GangProgram program = generate_program(draw, {.most_gangs = 1, .kinds = fake_kinds});
  const int children = draw.between(0, 2);
  for (int i = 0; i < children; ++i) {
    GangNode node = generate_node(draw, i + 1, program.world);
    while (node.making != Making::create_gang) node = generate_node(draw, i + 1, program.world);
    program.nodes.push_back(std::move(node));
  }
  for (Step& step : program.steps) {
    step.node = draw.between(0, children);
    step.uneven = false;
  }
  return program;
}

// The image that the ranks leave when each runs alone on a fake gang.
Image run_faked(const ProgramMemory& memory, const FakeGangFactory& make_fake) {
  Image image = memory.initial_image();
  for (int rank = 0; rank < memory.program().world; ++rank)
    run_rank(memory, make_fake({.rank = rank, .size = memory.program().world}), Subject{}, image);
  return image;
}

Verdict judge_faked(const GangProgram& program, const FakeGangFactory& make_fake,
                    const Subject& subject) {
  const ProgramMemory memory(program, Inputs::equal);
  const ProgramRun simulated = run_program(memory, options_of(program), subject);
  if (std::string problem = problem_of(simulated.report); !problem.empty())
    return Verdict::violated(std::move(problem));
  if (auto difference = memory.first_difference(simulated.image, run_faked(memory, make_fake)))
    return Verdict::violated("on a fake gang, " + *difference);
  return Verdict::holds();
}

// Rank r of a fake gang, as the source, scatters what rank r of a simulated gang would.
Verdict judge_scatter(GangProgram program, const FakeGangFactory& make_fake,
                      const Subject& subject) {
  for (int rank = 0; rank < program.world; ++rank) {
    program.steps.front().root = rank;
    const ProgramMemory memory(program, Inputs::equal);
    Image faked = memory.initial_image();
    const ProgramRun simulated = run_program(memory, options_of(program), subject);
    run_rank(memory, make_fake({.rank = rank, .size = program.world}), Subject{}, faked);
    const Place& place = memory.place(0, rank);
    const DataType type = data_type_of(program.steps.front());
    if (read(simulated.image, place.output, type) != read(faked, place.output, type))
      return Verdict::violated(
          "the source of a scatter on a fake gang gets a chunk other than its own");
  }
  return Verdict::holds();
}

}  // namespace

std::vector<Property> fake_gang_agrees(const FakeGangFactory& make_fake, const Subject& subject) {
  Law<GangProgram> programs{
      .suite = "fake_gang_agrees",
      .name = "equals_simulated_ranks_with_equal_data",
      .description = "Any program of collectives, on nested gangs, gives every rank the same.",
      .generate = generate_for_fakes,
      .verdict = [make_fake, subject](const GangProgram& program) {
        return judge_faked(program, make_fake, subject);
      }};
  Law<GangProgram> scatter{
      .suite = "fake_gang_agrees",
      .name = "scatter_picks_the_ranks_own_chunk",
      .description = "The source, which is the rank that a fake gang stands for, gets its chunk.",
      .cost = 4,
      .generate =
          [](Draw& draw) {
            return generate_program(
                draw, {.most_gangs = 1, .most_steps = 1, .kinds = {OperationKind::scatter}});
          },
      .verdict =
          [make_fake, subject](const GangProgram& program) {
            return judge_scatter(program, make_fake, subject);
          }};
  return {to_property(programs), to_property(scatter)};
}

}  // namespace gang::properties
