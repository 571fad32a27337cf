// The gradients and parameters of a rank's stages as one tensor, reduced over data parallelism.
#pragma once

#include <span>
#include <vector>

#include "gang/gangs.h"
#include "harness/training/model.h"
#include "harness/training/sgd.h"

namespace gang::harness {

// Without sharding (sdp of size 1), gradients are all-reduced over dp, and every rank updates all
// parameters. With sharding, gradients are reduce-scattered over sdp and all-reduced over rdp, each
// rank of sdp updates its shard and holds optimizer state only for it, and parameters are
// all-gathered over sdp.
class GradientBucket {
 public:
  // For `elements` parameters. `gangs` must outlive this.
  GradientBucket(const Gangs& gangs, std::int64_t elements);

  // Copies in the gradients and values of `models`, which have `elements` in all. Throws
  // InvalidArgument if they have more.
  void pack(std::span<training::Model* const> models);

  // Sums the gradients over dp. Then call `update`, and then `gather`.
  void reduce();
  void update(const training::SgdOptions& options, double samples);
  void gather();

  // Copies out the values and the summed gradients. With sharding no rank has all gradients, so
  // those of `models` become empty.
  void unpack(std::span<training::Model* const> models) const;

 private:
  bool is_sharded() const noexcept { return gangs_.sdp->size() > 1; }

  const Gangs& gangs_;
  std::size_t shard_size_;
  std::size_t shard_begin_;  // in values_
  std::vector<double> gradients_;
  std::vector<double> values_;
  std::vector<double> reduced_;   // this rank's shard of the gradients, if sharded
  std::vector<double> velocity_;  // of the shard, or of all; empty before the first update
};

}  // namespace gang::harness
