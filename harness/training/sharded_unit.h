// A part of a model whose parameters are divided among ranks and whole only while it computes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gang/gangs.h"
#include "harness/training/model.h"
#include "harness/training/sgd.h"

namespace gang::harness::training {

// Elements that are in memory only for a time: now, and at most so far.
struct LiveElements {
  Eigen::Index now = 0;
  Eigen::Index most = 0;

  void add(Eigen::Index count) noexcept;
  void remove(Eigen::Index count) noexcept { now -= count; }
};

// What the units of one model hold besides their shards.
struct LiveMemory {
  LiveElements values;     // of gathered units
  LiveElements gradients;  // that were not yet scattered
};

// One unit of fully sharded data parallelism. Its parameters are one flat tensor, padded to a
// multiple of sdp's size, of which each rank of sdp has a shard with its gradient and its
// optimizer; ranks of rdp have equal shards.
//
// Each step: gather, forward, release; gather, backward, release, start_reduce, finish_reduce;
// step. All ranks of sdp and rdp make the same calls. Source: Zhao et al., "PyTorch FSDP", VLDB
// 2023.
// Lifetime: `live` outlives it. Threads: one.
class ShardedUnit {
 public:
  ShardedUnit(std::span<const LayerSpecification> layers, const BuildOptions& options,
              const Gangs& gangs, LiveMemory& live);

  // Begins to gather the values from sdp (prefetch); nothing where they are there or on their way.
  void start_gather();

  // Blocks until the values are there.
  void gather();

  // Frees the values. The shards stay.
  void release();

  // As those of Model, on gathered values; backward makes new gradients.
  Matrix forward(const Matrix& input, Activations& activations);
  Matrix backward(const Matrix& output_gradient, Activations& activations);

  // Sums the gradients over sdp, each rank its shard, and frees the others; then over rdp.
  void start_reduce();
  void finish_reduce();

  // Updates this rank's shard; the gradients are sums over `samples` samples.
  void step(const SgdOptions& options, double samples);

  // The gradients of all shards of the last step, in the model. Only for looking at them: the call
  // is a collective over sdp, and what it gathers stays until the next backward.
  void gather_gradients();

  Eigen::Index padded_elements() const noexcept;
  std::vector<double>& shard() noexcept { return values_; }
  const Model& model() const noexcept { return model_; }

 private:
  struct Extents {
    Eigen::Index rows = 0;
    Eigen::Index columns = 0;
  };

  void unflatten(const std::vector<double>& flat, Matrix ModelParameter::* member);

  std::shared_ptr<Gang> sdp_;
  std::shared_ptr<Gang> rdp_;
  LiveMemory& live_;
  Model model_;
  std::vector<Extents> extents_;
  std::vector<double> values_;  // the shards
  std::vector<double> gradients_;
  std::vector<double> velocity_;
  std::vector<double> gathered_;   // while gathering
  std::vector<double> scattered_;  // while reducing
  std::optional<Work> gathering_;
  std::optional<Work> reducing_;
  bool is_whole_ = false;
};

// The most that `live` may have held when units of `sizes` elements were trained one after the
// other: each unit's values with those of a neighbour where `prefetch`, and the gradients of two
// neighbours.
LiveMemory planned_memory(std::span<const Eigen::Index> sizes, bool prefetch);

}  // namespace gang::harness::training
