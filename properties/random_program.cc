#include "properties/random_program.h"

#include <cmath>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "harness/program/contribution.h"
#include "properties/program_run.h"

namespace gang::properties {
namespace {

GangProgram make_case(std::uint64_t seed, std::uint64_t index, int world) {
  sim::RandomStream random{seed, "random program", index};
  Draw draw{random, 100, world};
  GangProgram program = generate_program(draw);
  program.world = world;  // whatever was drawn: any list of ranks makes sense
  return program;
}

bool is_rounded(const Step& step) {
  return reduces(step.kind) && step.reduce_operation == ReduceOperation::mean &&
         is_floating_point(step.data_type);
}

// The element of largest magnitude in the inputs of all members.
const std::byte* largest_input(const ProgramMemory& memory, std::size_t step, const Place& place,
                               Image& initial) {
  const DataType type = memory.program().steps[step].data_type;
  const std::byte* largest = nullptr;
  double magnitude = -1;
  for (const int member : *place.members) {
    const Region& input = memory.place(step, member).input;
    for (int i = 0; i < input.count; ++i) {
      std::byte* const element =
          initial.data() + input.offset + static_cast<std::size_t>(i) * size_bytes(type);
      const double value = std::abs(harness::read_element({element, type, Shape{}}, 0));
      if (value <= magnitude) continue;
      magnitude = value;
      largest = element;
    }
  }
  return largest;
}

// The rounding of a mean depends on the order of its sum. The largest input is output with it to
// bound the error, because the terms themselves may cancel.
void output_results(harness::Rank& rank, const ProgramMemory& memory, std::uint64_t index,
                    Image& image) {
  const std::vector<Step>& steps = memory.program().steps;
  std::optional<Image> initial;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    const Place& place = memory.place(step, rank.rank());
    if (!place.takes_part()) continue;
    const DataType type = data_type_of(steps[step]);
    const std::string name =
        fmt::format("case {} step {} {}", index, step, to_string(steps[step].kind));
    const auto count = static_cast<std::size_t>(place.output.count);
    std::byte* const values = image.data() + place.output.offset;
    if (!is_rounded(steps[step]) || count == 0) {
      rank.output(name, TensorView(values, type, Shape::vector(place.output.count)));
      continue;
    }
    if (!initial) initial = memory.initial_image();
    std::vector<std::byte> with_largest((count + 1) * size_bytes(type));
    std::memcpy(with_largest.data(), values, count * size_bytes(type));
    std::memcpy(with_largest.data() + count * size_bytes(type),
                largest_input(memory, step, place, *initial), size_bytes(type));
    rank.output(name, TensorView(with_largest.data(), type, Shape::vector(place.output.count + 1)));
  }
}

// Messages as the gang's backend passes them: NCCL has no tags.
Subject subject_of(const Gang& gang) {
  Subject subject;
  subject.has_tags = gang.info().backend != "nccl";
  return subject;
}

void run_cases(harness::Rank& rank) {
  const auto seed = rank.parameter<std::uint64_t>("seed");
  const auto first = rank.parameter<std::uint64_t>("first");
  const auto cases = rank.parameter<std::uint64_t>("cases");
  for (std::uint64_t index = first; index < first + cases; ++index) {
    const GangProgram program = make_case(seed, index, rank.world_size());
    const ProgramMemory memory(program);
    Image image = memory.initial_image();
    run_rank(memory, rank.root(), subject_of(*rank.root()), image);
    output_results(rank, memory, index, image);
  }
}

}  // namespace

harness::Program random_program() {
  return {
      .name = "random",
      .description = "runs generated programs, to compare backends",
      .run = run_cases,
      .parameters = {harness::integer_parameter("cases", 10, {1, 1'000'000}, "number of programs"),
                     harness::integer_parameter("seed", 1, {0, std::int64_t{1} << 62},
                                                "seed for the programs"),
                     harness::integer_parameter("first", 0, {0, 1'000'000'000},
                                                "index of the first program")},
      .default_world_size = 3};
}

}  // namespace gang::properties
