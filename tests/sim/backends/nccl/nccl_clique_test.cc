#include "sim/backends/nccl/nccl_clique.h"

#include <numeric>

#include "tests/sim/backends/nccl/nccl_world.h"
#include "tests/sim/injection/faulted_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

class NcclCliqueOf : public testing::TestWithParam<OperationKind> {};

// The expected output of each rank, for inputs 0, 1, 2, ... plus ten times the rank.
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

// Whether a launch of rank 0 and another of rank 1 complete together.
bool complete_together(const NcclLaunch& one, const NcclLaunch& other) {
  SimulationOptions options{.world_size = 2};
  options.pending_timeouts = PendingTimeouts::fire;
  bool is_complete[2] = {};
  run_nccl(options, [&](NcclRank& rank) {
    const std::int32_t input[2] = {5, 6};
    std::int32_t output[4] = {};
    NcclLaunch launch = rank.rank == 0 ? one : other;
    launch.input = reinterpret_cast<const std::byte*>(input);
    launch.output = reinterpret_cast<std::byte*>(output);
    rank.api->launch(*rank.communicator, *rank.stream, launch, rank.purpose);
    is_complete[rank.rank] = rank.wait(*rank.stream, TimePoint(1s)) == NcclWake::Reason::done;
    NcclCommunicator* const mine[] = {rank.communicator.get()};
    rank.api->revoke(mine);
  });
  EXPECT_EQ(is_complete[0], is_complete[1]);
  return is_complete[0];
}

// The kernels wait for each other forever.
TEST(NcclClique, CollectivesThatDifferInAnythingNeverComplete) {
  const NcclLaunch reduction{
      .kind = OperationKind::reduce, .count = 1, .data_type = DataType::i32, .peer = 0};
  EXPECT_TRUE(complete_together(reduction, reduction));
  NcclLaunch other = reduction;
  other.kind = OperationKind::broadcast;
  EXPECT_FALSE(complete_together(reduction, other));
  other = reduction;
  other.count = 2;
  EXPECT_FALSE(complete_together(reduction, other));
  other = reduction;
  other.data_type = DataType::f32;
  EXPECT_FALSE(complete_together(reduction, other));
  other = reduction;
  other.reduce_operation = ReduceOperation::max;
  EXPECT_FALSE(complete_together(reduction, other));
  other = reduction;
  other.peer = 1;
  EXPECT_FALSE(complete_together(reduction, other));
}

// Revoking ends a kernel for good: a later kernel finds no partner in its place.
TEST(NcclClique, OperationsWithAWithdrawnMemberNeverComplete) {
  SimulationOptions options{.world_size = 3};
  options.pending_timeouts = PendingTimeouts::fire;
  const Report report = run_nccl(options, [](NcclRank& rank) {
    std::int32_t value = 1;
    if (rank.rank != 0) rank.runtime.sleep_for(1ms);
    rank.all_reduce(*rank.communicator, *rank.stream, value);
    NcclCommunicator* const mine[] = {rank.communicator.get()};
    if (rank.rank == 0) return rank.api->revoke(mine);
    EXPECT_EQ(rank.wait(*rank.stream, TimePoint(1s)), NcclWake::Reason::deadline);
    EXPECT_EQ(value, 1);
    rank.api->revoke(mine);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

// Outcomes of a two-rank all_reduce and of a message from 0 to 1 under a link fault.
struct Fared {
  bool arrived[2] = {};
  TimePoint at{0};
  std::int32_t sum = 0;
  std::int32_t message = 0;
};

Fared fare_under(Fault fault, bool is_message) {
  fault.ranks = {0};
  fault.to = {1};
  SimulationOptions options = with(2, {fault});
  Fared fared;
  run_nccl(options, [&](NcclRank& rank) {
    std::int32_t value = 5;
    auto* const bytes = reinterpret_cast<std::byte*>(&value);
    if (is_message)
      rank.api->launch(*rank.communicator, *rank.stream,
                       {.kind = rank.rank == 0 ? OperationKind::send : OperationKind::recv,
                        .input = bytes,
                        .output = bytes,
                        .count = 1,
                        .data_type = DataType::i32,
                        .peer = 1 - rank.rank},
                       rank.purpose);
    else
      rank.all_reduce(*rank.communicator, *rank.stream, value);
    fared.arrived[rank.rank] = rank.wait(*rank.stream, TimePoint(20s)) == NcclWake::Reason::done;
    fared.at = rank.runtime.now();
    if (rank.rank == 1) (is_message ? fared.message : fared.sum) = value;
    NcclCommunicator* const mine[] = {rank.communicator.get()};
    rank.api->revoke(mine);
  });
  return fared;
}

TEST(NcclClique, LinkFaultsHoldLoseAndCorruptMessages) {
  for (const bool is_message : {false, true}) {
    const Fared held =
        fare_under({.kind = FaultKind::delay_message, .delay = Between<Duration>(3s)}, is_message);
    EXPECT_TRUE(held.arrived[0] && held.arrived[1]);
    EXPECT_EQ(held.at, TimePoint(3s));
    EXPECT_EQ(is_message ? held.message : held.sum, is_message ? 5 : 10);
    const Fared lost = fare_under({.kind = FaultKind::drop_message}, is_message);
    EXPECT_FALSE(lost.arrived[0] || lost.arrived[1]);
    const Fared cut =
        fare_under({.kind = FaultKind::partition, .lasts = Between<Duration>(2s)}, is_message);
    EXPECT_EQ(cut.at, TimePoint(2s));
    const Fared corrupt = fare_under({.kind = FaultKind::corrupt_message}, is_message);
    EXPECT_TRUE(corrupt.arrived[0] && corrupt.arrived[1]);
    EXPECT_NE(is_message ? corrupt.message : corrupt.sum, is_message ? 5 : 10);
  }
}

}  // namespace
}  // namespace gang::sim
