// A part of a model whose parameters are divided among ranks, and whole only while it computes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gang/gangs.h"
#include "harness/training/model.h"
#include "harness/training/sgd.h"

namespace gang::harness::training {

// Elements held in memory for a while: now, and the most so far.
struct LiveElements {
  Eigen::Index now = 0;
  Eigen::Index most = 0;

  void add(Eigen::Index count) noexcept;
  void remove(Eigen::Index count) noexcept { now -= count; }
};

// What the units of a model hold besides their shards.
struct LiveMemory {
  LiveElements values;     // of gathered units
  LiveElements gradients;  // not yet scattered
};

// One unit of fully sharded data parallelism. Its parameters are one flat tensor, padded to a
// multiple of sdp's size. Each rank of sdp has a shard of it with gradient and optimizer state;
// ranks of rdp have equal shards.
//
// Each step: gather, forward, release; gather, backward, release, start_reduce, finish_reduce;
// step. All ranks of sdp and rdp make the same calls. Source: Zhao et al., "PyTorch FSDP", VLDB
// 2023.
// Lifetime: `live` outlives it. Threads: one.
class ShardedUnit {
 public:
  ShardedUnit(std::span<const LayerSpecification> layers, const BuildOptions& options,
              const Gangs& gangs, LiveMemory& live);

  // Starts to gather the values from sdp (prefetch); does nothing if that is done or under way.
  void start_gather();

  // Blocks until the values are gathered.
  void gather();

  // Frees the values, but not the shards.
  void release();

  // Like those of Model, on gathered values; backward begins with zero gradients.
  Matrix forward(const Matrix& input, Activations& activations);
  Matrix backward(const Matrix& output_gradient, Activations& activations);

  // Sums each shard's gradients over sdp and frees the rest; then sums over rdp.
  void start_reduce();
  void finish_reduce();

  // Updates this rank's shard from gradients that are sums over `samples` samples.
  void step(const SgdOptions& options, double samples);

  // Puts the last step's gradients of all shards into the model, for inspection only: collective
  // over sdp, and the gathered gradients stay until the next backward.
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

// The most that `live` may hold while units of `sizes` elements train one after the other: the
// values of a unit, with `prefetch` also those of its neighbour, and the gradients of two
// neighbours.
LiveMemory planned_memory(std::span<const Eigen::Index> sizes, bool prefetch);

}  // namespace gang::harness::training
