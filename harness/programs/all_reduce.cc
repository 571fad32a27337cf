#include <fmt/format.h>

#include "gang/error.h"
#include "harness/program/contribution.h"
#include "harness/programs/all_programs.h"

namespace gang::harness {
namespace {

void run_all_reduce(Rank& rank) {
  Gang& gang = *rank.root();
  const auto type = rank.parameter<DataType>("type");
  const auto operation = rank.parameter<ReduceOperation>("op");
  const auto count = rank.parameter<std::int64_t>("count");
  const auto iterations = rank.parameter<std::int64_t>("iterations");
  alignas(8) std::byte one_element[8];
  std::vector<std::byte> elements(count > 1 ? static_cast<std::size_t>(count) * size_bytes(type)
                                            : 0);
  const TensorView tensor{count > 1 ? elements.data() : one_element, type, Shape::vector(count)};

  fill_contribution(tensor, operation, rank.rank());
  gang.all_reduce(tensor, operation);
  if (!is_reduction(tensor, operation, rank.world_size()))
    rank.wrong_result(fmt::format("all_reduce returned a wrong result on rank {}.", rank.rank()));
  rank.output("reduced", tensor);
  for (std::int64_t i = 1; i < iterations; ++i) gang.all_reduce(tensor, operation);
}

void validate_all_reduce(int, const ParameterValues& parameters) {
  const auto type = parameters.get<DataType>("type");
  const auto operation = parameters.get<ReduceOperation>("op");
  if (!is_defined(operation, type))
    throw InvalidArgument(
        fmt::format("op {} is not defined for type {}", to_string(operation), to_string(type)));
}

}  // namespace

Program all_reduce_program() {
  return {.name = "all_reduce",
          .description = "all_reduce over all ranks, in a loop; the first result is checked",
          .run = run_all_reduce,
          .parameters = {integer_parameter("count", 1, {0, std::int64_t{1} << 32},
                                           "number of elements"),
                         data_type_parameter("type", DataType::f32, "data type"),
                         reduce_operation_parameter("op", ReduceOperation::sum, "reduce operation"),
                         integer_parameter("iterations", 1, {1, 1'000'000'000},
                                           "number of all_reduce calls")},
          .validate = validate_all_reduce};
}

}  // namespace gang::harness
