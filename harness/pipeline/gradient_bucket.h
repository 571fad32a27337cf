// The gradients and parameters of a rank's stages, reduced over data parallelism as one.
#pragma once

#include <span>
#include <vector>

#include "gang/gangs.h"
#include "harness/training/model.h"
#include "harness/training/sgd.h"

namespace gang::harness {

// Without sharding (sdp of size 1) gradients are all-reduced over dp and every rank updates all
// parameters. With it they are reduce-scattered over sdp and all-reduced over rdp, each rank of sdp
// updates its shard (which alone has an optimizer state), and parameters are all-gathered over sdp.
class GradientBucket {
 public:
  // For `elements` parameters. `gangs` outlives this.
  GradientBucket(const Gangs& gangs, std::int64_t elements);

  // Copies gradients and values of `models`, which have `elements` together, in. Throws
  // InvalidArgument where they have more.
  void pack(std::span<training::Model* const> models);

  // Sums the gradients over dp; after this, `update` may be called, and then `gather`.
  void reduce();
  void update(const training::SgdOptions& options, double samples);
  void gather();

  // Copies the values out, and the summed gradients; where they are sharded, no rank has all of
  // them, and those of `models` are emptied.
  void unpack(std::span<training::Model* const> models) const;

 private:
  bool is_sharded() const noexcept { return gangs_.sdp->size() > 1; }

  const Gangs& gangs_;
  std::size_t shard_size_;
  std::size_t shard_begin_;  // in values_
  std::vector<double> gradients_;
  std::vector<double> values_;
  std::vector<double> reduced_;   // this rank's shard of the gradients, where sharded
  std::vector<double> velocity_;  // of the shard, or of all; empty until updated
};

}  // namespace gang::harness
