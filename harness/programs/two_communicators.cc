#include <fmt/format.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"

namespace gang::harness {
namespace {

// Two gangs of all ranks with a reduction in flight on each. Unless order=same, odd ranks start
// them in the opposite order. That is correct gang by gang, but on devices that run kernels in
// launch order no rank ever finishes.
void run_two_communicators(Rank& rank) {
  const auto a = rank.root()->split({.color = 0}, {.name = "a"});
  const auto b = rank.root()->split({.color = 0}, {.name = "b"});
  const bool swaps = rank.rank() % 2 == 1 && rank.parameter<std::string>("order") == "different";
  std::vector<float> gradient(1024, 1.0F);
  std::vector<float> activation(16, 1.0F);
  std::vector<Work> works;
  if (swaps) works.push_back(b->start_all_reduce(view(activation), ReduceOperation::sum));
  works.push_back(a->start_all_reduce(view(gradient), ReduceOperation::sum));
  if (!swaps) works.push_back(b->start_all_reduce(view(activation), ReduceOperation::sum));
  Work::wait_all(works);
  rank.output("gradient", gradient);
  rank.output("activation", activation);
}

}  // namespace

Program two_communicators_program() {
  return {
      .name = "two_communicators",
      .description = "two reductions in flight, started in different orders: run it on sim-nccl",
      .run = run_two_communicators,
      .parameters = {choice_parameter("order", "different", {"different", "same"},
                                      "whether all ranks start the reductions in one order")},
      .validate =
          [](int world_size, const ParameterValues&) {
            if (world_size >= 2) return;
            throw InvalidArgument(
                fmt::format("two_communicators: world size is {}; must be at least 2", world_size));
          },
      .default_world_size = 2};
}

}  // namespace gang::harness
