// The members call the same operation with different arguments: count, type, root, ...
#include <algorithm>
#include <memory>

#include <dlpack/dlpack.h>
#include <nlohmann/json.hpp>

#include "gang/object.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

using Gradient = std::vector<float>;

// The last batch of one rank is smaller.
void last_batch(Rank& rank, const PlantedBug& bug) {
  const bool is_short = bug.is_planted() && rank.rank() == 3;
  std::vector<float> logits(is_short ? 5 : 8, 1.0F);
  std::vector<float> all(logits.size() * static_cast<std::size_t>(rank.world_size()));
  rank.root()->all_gather(view(all), view(logits), {}, bug.here());
}

// One of 128 ranks broadcasts the tail of a sharded tensor, the others the whole tensor.
void one_of_128(Rank& rank, const PlantedBug& bug) {
  constexpr std::int64_t whole = 262'144;
  constexpr std::int64_t tail = 1'025;
  const bool is_short = bug.is_planted() && rank.rank() == 77;
  const auto weights = std::make_unique_for_overwrite<std::uint8_t[]>(whole);
  if (rank.rank() == 0) std::fill_n(weights.get(), whole, std::uint8_t{1});
  const TensorView view{weights.get(), DataType::u8, Shape::vector(is_short ? tail : whole)};
  rank.root()->broadcast(view, 0, {}, bug.here());
}

// Autocast is on everywhere except on one rank.
void mixed_precision(Rank& rank, const PlantedBug& bug) {
  std::vector<std::uint16_t> low(8, 0x3F80);  // 1.0 in bf16
  std::vector<float> full(8, 1.0F);
  const TensorView low_view{low.data(), DataType::bf16, Shape::vector(8)};
  const bool is_full = bug.is_planted() && rank.rank() == 1;
  rank.root()->all_reduce(is_full ? view(full) : low_view, ReduceOperation::sum, {}, bug.here());
}

// One rank averages, the others sum.
void sum_or_mean(Rank& rank, const PlantedBug& bug) {
  Gradient gradient(8, 1.0F);
  const bool averages = bug.is_planted() && rank.rank() == 2;
  rank.root()->all_reduce(view(gradient), averages ? ReduceOperation::mean : ReduceOperation::sum,
                          {}, bug.here());
}

// One rank passes its own rank as the source.
void broadcast_from_self(Rank& rank, const PlantedBug& bug) {
  std::vector<float> weights(8, 1.0F);
  const int source = bug.is_planted() && rank.rank() == 3 ? rank.rank() : 0;
  rank.root()->broadcast(view(weights), source, {}, bug.here());
}

// One rank gathers to the leader of its node instead of the leader of the gang.
void gather_on_leader(Rank& rank, const PlantedBug& bug) {
  std::vector<float> sample(2, 1.0F);
  const int leader = bug.is_planted() && rank.rank() == 2 ? 2 : 0;
  std::vector<std::vector<float>> samples(
      rank.rank() == leader ? static_cast<std::size_t>(rank.world_size()) : 0,
      std::vector<float>(2));
  std::vector<TensorView> outputs;
  for (std::vector<float>& one : samples) outputs.push_back(view(one));
  rank.root()->gather(outputs, view(sample), leader, {}, bug.here());
}

// Metrics by name; one rank has a key that the others lack.
void metric_keys(Rank& rank, const PlantedBug& bug) {
  const bool has_extra = bug.is_planted() && rank.rank() == 1;
  std::vector<Object> metrics(has_extra ? 3 : 2, Object{0.5});
  rank.root()->broadcast_objects(metrics, 0, {}, bug.here());
}

// Rank 1 sends rank 0 more than rank 0 expects, because the splits were not exchanged first.
void uneven_splits(Rank& rank, const PlantedBug& bug) {
  const auto size = static_cast<std::size_t>(rank.world_size());
  const bool sends_more = bug.is_planted() && rank.rank() == 1;
  std::vector<std::int64_t> sent(size, 2);
  const std::vector<std::int64_t> expected(size, 2);
  if (sends_more) sent[0] = 3;
  std::vector<float> tokens(2 * size + (sends_more ? 1 : 0), 1.0F);
  std::vector<float> routed(2 * size);
  rank.root()->all_to_all(view(routed), view(tokens), {.output = expected, .input = sent}, {},
                          bug.here());
}

// Averages sums over all ranks, but divides by the wrong number.
void mean_of_means(Rank& rank, const PlantedBug& bug) {
  std::vector<float> sums = {4.0F * static_cast<float>(rank.rank() + 1)};
  const int divisor = bug.is_planted() ? 1 : rank.world_size();
  rank.root()->all_reduce(view(sums), ReduceOperation::sum);
  const auto size = static_cast<float>(rank.world_size());
  const float mean = sums[0] / static_cast<float>(divisor);
  if (mean != 2.0F * (size + 1.0F))
    rank.wrong_result("The mean is not the mean of all ranks.", bug.here());
}

// One rank passes a transposed view, whose elements are not contiguous.
void transposed_view(Rank& rank, const PlantedBug& bug) {
  std::vector<float> weights(6, 1.0F);
  const bool is_transposed = bug.is_planted() && rank.rank() == 2;
  std::int64_t shape[] = {3, 2};
  std::int64_t strides[] = {1, 3};
  DLTensor tensor{};
  tensor.data = weights.data();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = 2;
  tensor.dtype = {kDLFloat, 32, 1};
  tensor.shape = shape;
  tensor.strides = strides;
  const TensorView transposed = TensorView::from_dlpack(tensor);
  rank.root()->all_reduce(is_transposed ? transposed : view(weights), ReduceOperation::sum, {},
                          bug.here());
}

}  // namespace

std::vector<FaultyProgram> mismatched_arguments() {
  namespace id = sim::finding_id;
  return {faulty("last_batch", "one rank's batch is smaller", last_batch, id::mismatch_count, {3},
                 {.seen_in = "nccl#1417, nccl#1394", .fewest_ranks = 4}),
          faulty("one_of_128", "1,025 elements, not 262,144", one_of_128, id::mismatch_count, {77},
                 {.seen_in = "pytorch#140563", .default_world_size = 128, .fewest_ranks = 78}),
          faulty("mixed_precision", "autocast is off on one rank", mixed_precision,
                 id::mismatch_data_type, {1}, {.seen_in = "pytorch#150433", .fewest_ranks = 3}),
          faulty("sum_or_mean", "one rank averages", sum_or_mean, id::mismatch_reduce_operation,
                 {2}, {.fewest_ranks = 3}),
          faulty("broadcast_from_self", "one rank passes its own rank", broadcast_from_self,
                 id::mismatch_root, {3}, {.fewest_ranks = 4}),
          faulty("gather_on_leader", "gathers to the node's leader", gather_on_leader,
                 id::mismatch_root, {2}, {.fewest_ranks = 3}),
          faulty("metric_keys", "a metric that others lack", metric_keys, id::mismatch_count, {1},
                 {.seen_in = "fairseq2 validator.py:269", .fewest_ranks = 3}),
          faulty("uneven_splits", "splits that do not match", uneven_splits, id::mismatch_count,
                 {0, 1}, {.default_world_size = 2}),
          faulty("mean_of_means", "divides by the wrong number", mean_of_means, id::wrong_result,
                 {0, 1, 2, 3}, {.seen_in = "torchcomms#287"}),
          faulty("transposed_view", "a tensor that is not contiguous", transposed_view,
                 id::rank_failed, {2}, {.fewest_ranks = 3})};
}

}  // namespace gang::harness
