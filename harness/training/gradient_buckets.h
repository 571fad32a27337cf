// Gradients summed over a gang while backward still runs: buckets of parameters, as they get ready.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gang/gang.h"
#include "harness/training/model.h"

namespace gang::harness::training {

enum class Overlap : std::uint8_t {
  asynchronous,  // a bucket's all_reduce is started, and finish waits for it
  blocking,      // it is waited for at once
};

struct BucketOptions {
  Eigen::Index bucket_elements = 1 << 20;  // a bucket ends with the parameter that reaches it
  Overlap overlap = Overlap::asynchronous;
  std::optional<CallSite> call_site;  // of the all_reduces, in reports; none: where they stand
};

// Maps parameters to buckets in reverse order, as backward makes their gradients. A bucket is
// reduced when all its gradients are ready, and the buckets in their order, on every rank the same,
// whatever the order in which gradients get ready: then ranks cannot disagree on which is next.
//
// One round: ready() for every parameter (or ready_unused), then finish(). Source: Li et al.,
// "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 2020.
// Lifetime: the parameters outlive it. Threads: one.
class GradientBuckets {
 public:
  GradientBuckets(std::span<ModelParameter* const> parameters, std::shared_ptr<Gang> gang,
                  const BucketOptions& options = {});

  // The gradient of `parameter` is complete: copied, and its bucket reduced if it was the last.
  // Throws InvalidOperation for one that is ready already, or is not among the parameters.
  void ready(const ModelParameter& parameter);

  // Whatever is not ready has no gradient in this pass on this rank, and counts with what it has
  // (zero, unless it was accumulated). Without it, the other ranks wait for its bucket forever.
  void ready_unused();

  // Blocks until all buckets are reduced, and stores the sums as gradients. Begins the next round.
  // Throws InvalidOperation where a gradient is not ready.
  void finish();

  std::size_t bucket_count() const noexcept { return buckets_.size(); }

 private:
  struct Entry {
    ModelParameter* parameter = nullptr;
    Eigen::Index offset = 0;  // in the bucket
    bool is_ready = false;
  };
  struct Bucket {
    std::vector<Entry> entries;
    std::vector<double> sum;
    std::size_t missing = 0;  // entries that are not ready
    std::string label;
    Work work;
  };

  void accept(Bucket& bucket, Entry& entry);
  void start_complete_buckets();

  std::shared_ptr<Gang> gang_;
  BucketOptions options_;
  std::vector<Bucket> buckets_;
  std::size_t next_ = 0;  // the first that was not started
};

}  // namespace gang::harness::training
