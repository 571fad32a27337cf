#include <fmt/format.h>

#include "gang/error.h"
#include "gang/gangs.h"
#include "harness/programs/all_programs.h"
#include "harness/training/training_plan.h"

namespace gang::harness {
namespace {

// The sum of the root ranks of a gang whose members are `stride` apart; `rank` is one of them.
std::int64_t sum_of_root_ranks(const Gang& gang, std::int64_t rank, std::int64_t stride) {
  const std::int64_t size = gang.size();
  const std::int64_t first = rank - gang.rank() * stride;
  return size * first + stride * (size * (size - 1) / 2);
}

struct Axis {
  std::string_view name;
  Gang& gang;
  std::int64_t stride;  // between the root ranks of two neighbours
};

void report_wrong_sum(Rank& rank, const Axis& axis, std::int64_t sum, std::int64_t expected) {
  rank.wrong_result(fmt::format("The sum of the root ranks over {} is {} on rank {}, not {}.",
                                axis.name, sum, rank.rank(), expected));
}

// Sums the root ranks over an axis and checks the result.
void reduce_over(Rank& rank, const Axis& axis) {
  std::int64_t sum = rank.rank();
  axis.gang.all_reduce(view_of(sum), ReduceOperation::sum);
  const std::int64_t expected = sum_of_root_ranks(axis.gang, rank.rank(), axis.stride);
  if (sum != expected) report_wrong_sum(rank, axis, sum, expected);
  rank.output(axis.name, sum);
}

void run_mesh(Rank& rank) {
  const int tp_size = rank.parameter<int>("tp");
  const int pp_size = rank.parameter<int>("pp");
  const int intra_node_size = rank.parameter<int>("intra_node");
  const int dp_size = rank.world_size() / tp_size / pp_size;
  Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = tp_size, .pp_size = pp_size});
  if (intra_node_size > 0) gangs = create_fsdp_gangs(gangs, intra_node_size);

  const std::int64_t tp_stride = tp_size;
  reduce_over(rank, {"tp", *gangs.tp, 1});
  reduce_over(rank, {"dp", *gangs.dp, tp_stride});
  reduce_over(rank, {"pp", *gangs.pp, tp_stride * dp_size});
  if (intra_node_size > 0) {
    reduce_over(rank, {"sdp", *gangs.sdp, tp_stride});
    reduce_over(rank, {"rdp", *gangs.rdp, tp_stride * intra_node_size});
  }
  gangs.close();
}

void validate_mesh(int world_size, const ParameterValues& parameters) {
  const auto tp_size = parameters.get<std::int64_t>("tp");
  const auto pp_size = parameters.get<std::int64_t>("pp");
  if (world_size % (tp_size * pp_size) != 0)
    throw InvalidArgument(
        fmt::format("tp {} times pp {} does not divide world {}", tp_size, pp_size, world_size));
  training::check_intra_node(parameters.get<std::int64_t>("intra_node"),
                             world_size / (tp_size * pp_size));
}

}  // namespace

Program mesh_program() {
  constexpr IntegerRange sizes{1, 1 << 22};
  return {.name = "mesh",
          .description = "creates all gangs of a layout and checks an all_reduce over each axis",
          .run = run_mesh,
          .parameters = {integer_parameter("tp", 1, sizes, "tensor parallel ranks"),
                         integer_parameter("pp", 1, sizes, "pipeline parallel ranks"),
                         integer_parameter("intra_node", 0, {0, 1 << 22},
                                           "ranks per node for sharding; 0: no sharding")},
          .validate = validate_mesh};
}

}  // namespace gang::harness
