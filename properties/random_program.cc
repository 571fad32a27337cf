#include "properties/random_program.h"

#include <fmt/format.h>

#include "properties/program_run.h"

namespace gang::properties {
namespace {

GangProgram make_case(std::uint64_t seed, std::uint64_t index, int world) {
  sim::RandomStream random{seed, "random program", index};
  Draw draw{random, 100, world};
  GangProgram program = generate_program(draw);
  program.world = world;  // whatever was drawn: any lists of ranks make sense
  return program;
}

void put_out(harness::Rank& rank, const ProgramMemory& memory, std::uint64_t index, Image& image) {
  const std::vector<Step>& steps = memory.program().steps;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const Place& place = memory.place(step, rank.rank());
    if (!place.takes_part()) continue;
    rank.output(fmt::format("case {} step {} {}", index, step, to_string(steps[step].kind)),
                TensorView(image.data() + place.output.offset, data_type_of(steps[step]),
                           Shape::vector(place.output.count)));
  }
}

void run_cases(harness::Rank& rank) {
  const auto seed = rank.parameter<std::uint64_t>("seed");
  const auto first = rank.parameter<std::uint64_t>("first");
  const auto cases = rank.parameter<std::uint64_t>("cases");
  for (std::uint64_t index = first; index < first + cases; ++index) {
    const GangProgram program = make_case(seed, index, rank.world_size());
    const ProgramMemory memory(program);
    Image image = memory.initial_image();
    run_rank(memory, rank.root(), Subject{}, image);
    put_out(rank, memory, index, image);
  }
}

}  // namespace

harness::Program random_program() {
  return {.name = "random",
          .description = "generated programs, one after the other, for comparing backends",
          .run = run_cases,
          .parameters = {harness::integer_parameter("cases", 10, {1, 1'000'000}, "programs"),
                         harness::integer_parameter("seed", 1, {0, std::int64_t{1} << 62},
                                                    "decides the programs"),
                         harness::integer_parameter("first", 0, {0, 1'000'000'000},
                                                    "number of the first program")},
          .default_world_size = 3};
}

}  // namespace gang::properties
