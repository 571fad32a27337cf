#include "harness/pipeline/gradient_bucket.h"

#include <algorithm>

#include "gang/error.h"

namespace gang::harness {
namespace {

std::size_t divided_up(std::int64_t count, int parts) {
  return static_cast<std::size_t>((count + parts - 1) / parts);
}

}  // namespace

GradientBucket::GradientBucket(const Gangs& gangs, std::int64_t elements)
    : gangs_(gangs),
      shard_size_(divided_up(elements, gangs.sdp->size())),
      shard_begin_(shard_size_ * static_cast<std::size_t>(gangs.sdp->rank())),
      gradients_(shard_size_ * static_cast<std::size_t>(gangs.sdp->size())) {
  if (!is_sharded()) return;
  values_.resize(gradients_.size());
  reduced_.resize(shard_size_);
}

void GradientBucket::pack(std::span<training::Model* const> models) {
  values_.resize(gradients_.size());
  std::size_t place = 0;
  for (training::Model* model : models) {
    if (place + static_cast<std::size_t>(model->element_count()) > gradients_.size())
      throw InvalidArgument("the models have more elements than the bucket");
    for (const training::ModelParameter* parameter : model->parameters()) {
      const auto count = static_cast<std::size_t>(parameter->value.size());
      std::copy_n(parameter->gradient.data(), count, gradients_.data() + place);
      std::copy_n(parameter->value.data(), count, values_.data() + place);
      place += count;
    }
  }
}

void GradientBucket::reduce() {
  if (!is_sharded()) {
    if (gangs_.dp->size() > 1) gangs_.dp->all_reduce(view(gradients_), ReduceOperation::sum);
    return;
  }
  gangs_.sdp->reduce_scatter(view(reduced_), view(gradients_), ReduceOperation::sum);
  if (gangs_.rdp->size() > 1) gangs_.rdp->all_reduce(view(reduced_), ReduceOperation::sum);
}

void GradientBucket::update(const training::SgdOptions& options, double samples) {
  velocity_.resize(shard_size_);
  training::update(options, {.values = std::span(values_).subspan(shard_begin_, shard_size_),
                             .gradients = is_sharded() ? reduced_ : gradients_,
                             .velocity = velocity_,
                             .samples = samples});
}

void GradientBucket::gather() {
  if (!is_sharded()) return;
  const auto count = static_cast<std::int64_t>(shard_size_);
  std::vector<double> own(values_.begin() + static_cast<std::ptrdiff_t>(shard_begin_),
                          values_.begin() + static_cast<std::ptrdiff_t>(shard_begin_) + count);
  gangs_.sdp->all_gather(view(values_), view(own));
}

void GradientBucket::unpack(std::span<training::Model* const> models) const {
  std::size_t place = 0;
  for (training::Model* model : models) {
    for (training::ModelParameter* parameter : model->parameters()) {
      const auto count = static_cast<std::size_t>(parameter->value.size());
      std::copy_n(values_.data() + place, count, parameter->value.data());
      if (is_sharded())
        parameter->gradient.resize(0, 0);
      else
        std::copy_n(gradients_.data() + place, count, parameter->gradient.data());
      place += count;
    }
  }
}

}  // namespace gang::harness
