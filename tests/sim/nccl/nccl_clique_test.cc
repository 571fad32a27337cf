#include "sim/nccl/nccl_clique.h"

#include <numeric>

#include "tests/sim/nccl/nccl_world.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

class NcclCliqueOf : public testing::TestWithParam<OperationKind> {};

// Inputs are 0, 1, 2, ... plus ten times the rank; what each rank must find.
std::vector<std::int32_t> expected(OperationKind kind, int rank, int size) {
  using enum OperationKind;
  std::vector<std::int32_t> result;
  const auto input = [](int of, int place) { return 10 * of + place; };
  int sum = 0;
  for (int other = 0; other < size; ++other) {
    sum += input(other, kind == reduce_scatter ? rank : 0);
    if (kind == all_gather || kind == gather) result.push_back(input(other, 0));
    if (kind == all_to_all) result.push_back(input(other, rank));
  }
  if (kind == all_reduce || kind == reduce || kind == reduce_scatter) result = {sum};
  if (kind == scatter) result = {input(1, rank)};
  if (kind == broadcast) result = {input(1, 0)};
  const bool is_of_root = kind == reduce || kind == gather;
  return is_of_root && rank != 1 ? std::vector<std::int32_t>{} : result;
}

TEST_P(NcclCliqueOf, GivesTheResultOfTheCollective) {
  const OperationKind kind = GetParam();
  const Report report = run_nccl({.world_size = 3}, [kind](NcclRank& rank) {
    std::vector<std::int32_t> input(3);
    std::iota(input.begin(), input.end(), 10 * rank.rank);
    std::vector<std::int32_t> output(3, -1);
    rank.api->launch(*rank.communicator, *rank.stream,
                     {.kind = kind,
                      .input = reinterpret_cast<const std::byte*>(input.data()),
                      .output = reinterpret_cast<std::byte*>(output.data()),
                      .count = 1,
                      .data_type = DataType::i32,
                      .peer = has_root(kind) ? 1 : no_rank},
                     rank.purpose);
    rank.wait(*rank.stream);
    const auto wanted = expected(kind, rank.rank, 3);
    output.resize(wanted.size());
    EXPECT_EQ(output, wanted) << to_string(kind) << " rank " << rank.rank;
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

INSTANTIATE_TEST_SUITE_P(Kinds, NcclCliqueOf,
                         testing::Values(OperationKind::all_reduce, OperationKind::reduce,
                                         OperationKind::reduce_scatter, OperationKind::all_gather,
                                         OperationKind::gather, OperationKind::scatter,
                                         OperationKind::all_to_all, OperationKind::broadcast));

}  // namespace
}  // namespace gang::sim
