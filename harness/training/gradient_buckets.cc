#include "harness/training/gradient_buckets.h"

#include <algorithm>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::harness::training {

GradientBuckets::GradientBuckets(std::span<ModelParameter* const> parameters,
                                 std::shared_ptr<Gang> gang, const BucketOptions& options)
    : gang_(std::move(gang)), options_(options) {
  Eigen::Index elements = 0;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    if (buckets_.empty() || elements >= options.bucket_elements) {
      buckets_.emplace_back();
      buckets_.back().label = fmt::format("gradients {}", buckets_.size() - 1);
      elements = 0;
    }
    buckets_.back().entries.push_back({parameters[i], elements});
    elements += parameters[i]->gradient.size();
    buckets_.back().sum.resize(static_cast<std::size_t>(elements));
  }
  for (Bucket& bucket : buckets_) bucket.missing = bucket.entries.size();
}

void GradientBuckets::ready(const ModelParameter& parameter) {
  for (Bucket& bucket : buckets_) {
    const auto entry = std::ranges::find(bucket.entries, &parameter, &Entry::parameter);
    if (entry == bucket.entries.end()) continue;
    if (entry->is_ready)
      throw InvalidOperation(
          fmt::format("the gradient of {} was already ready in this round", parameter.name));
    accept(bucket, *entry);
    start_complete_buckets();
    return;
  }
  throw InvalidOperation(fmt::format("{} does not belong to any bucket", parameter.name));
}

void GradientBuckets::ready_unused() {
  for (Bucket& bucket : buckets_)
    for (Entry& entry : bucket.entries)
      if (!entry.is_ready) accept(bucket, entry);
  start_complete_buckets();
}

void GradientBuckets::finish() {
  if (next_ < buckets_.size()) {
    const auto missing = std::ranges::find(buckets_[next_].entries, false, &Entry::is_ready);
    throw InvalidOperation(
        fmt::format("{} has no gradient in this backward pass; call ready_unused, or its bucket is "
                    "never reduced",
                    missing->parameter->name));
  }
  for (Bucket& bucket : buckets_) {
    bucket.work.wait();
    for (Entry& entry : bucket.entries) {
      Matrix& gradient = entry.parameter->gradient;
      std::copy_n(bucket.sum.begin() + entry.offset, gradient.size(), gradient.data());
      entry.is_ready = false;
    }
    bucket.missing = bucket.entries.size();
  }
  next_ = 0;
}

void GradientBuckets::accept(Bucket& bucket, Entry& entry) {
  const Matrix& gradient = entry.parameter->gradient;
  std::copy_n(gradient.data(), gradient.size(), bucket.sum.begin() + entry.offset);
  entry.is_ready = true;
  --bucket.missing;
}

void GradientBuckets::start_complete_buckets() {
  for (; next_ < buckets_.size() && buckets_[next_].missing == 0; ++next_) {
    Bucket& bucket = buckets_[next_];
    bucket.work =
        gang_->start_all_reduce(view(bucket.sum), ReduceOperation::sum, {.label = bucket.label},
                                options_.call_site.value_or(CallSite::here()));
    if (options_.overlap == Overlap::blocking) bucket.work.wait();
  }
}

}  // namespace gang::harness::training
