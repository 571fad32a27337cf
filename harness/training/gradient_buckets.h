// Sums gradients over a gang while backward still runs, bucket by bucket.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gang/gang.h"
#include "harness/training/model.h"

namespace gang::harness::training {

enum class Overlap : std::uint8_t {
  asynchronous,  // starts a bucket's all_reduce; finish waits for it
  blocking,      // waits for each all_reduce at once
};

struct BucketOptions {
  Eigen::Index bucket_elements = 1 << 20;  // a bucket ends with the parameter that reaches it
  Overlap overlap = Overlap::asynchronous;
  std::optional<CallSite> call_site;  // of the all_reduces, in reports; none: their own lines
};

// Maps parameters to buckets in reverse order, the order in which backward computes gradients. A
// bucket is reduced once all its gradients are ready and the buckets before it have been started,
// whatever the order in which gradients become ready, so ranks never disagree on the next bucket.
//
// One round: ready() for every parameter (or ready_unused), then finish(). Source: Li et al.,
// "PyTorch Distributed: Experiences on Accelerating Data Parallel Training", VLDB 2020.
// Lifetime: the parameters outlive it. Threads: one.
class GradientBuckets {
 public:
  GradientBuckets(std::span<ModelParameter* const> parameters, std::shared_ptr<Gang> gang,
                  const BucketOptions& options = {});

  // Takes the complete gradient of `parameter`: copies it, and reduces its bucket if it was the
  // last. Throws InvalidOperation if it was ready before or is not one of the parameters.
  void ready(const ModelParameter& parameter);

  // Takes every gradient that is not ready as it is (zero, unless accumulated), because this pass
  // computes none on this rank. Otherwise the other ranks would wait for its bucket forever.
  void ready_unused();

  // Blocks until all buckets are reduced, and stores the sums as gradients. Begins the next round.
  // Throws InvalidOperation if a gradient is not ready.
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
  std::size_t next_ = 0;  // the first bucket not yet started
};

}  // namespace gang::harness::training
