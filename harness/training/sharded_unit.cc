#include "harness/training/sharded_unit.h"

#include <algorithm>

namespace gang::harness::training {
namespace {

// The elements of `member` in all parameters, one after the other, padded with zeros to `size`.
std::vector<double> flatten(const Model& model, Matrix ModelParameter::* member, std::size_t size) {
  std::vector<double> flat;
  flat.reserve(size);
  for (const ModelParameter* parameter : model.parameters()) {
    const Matrix& matrix = parameter->*member;
    flat.insert(flat.end(), matrix.data(), matrix.data() + matrix.size());
  }
  flat.resize(size);
  return flat;
}

std::size_t padded(Eigen::Index count, int parts) {
  return static_cast<std::size_t>((count + parts - 1) / parts * parts);
}

}  // namespace

void LiveElements::add(Eigen::Index count) noexcept {
  now += count;
  most = std::max(most, now);
}

ShardedUnit::ShardedUnit(std::span<const LayerSpecification> layers, const BuildOptions& options,
                         const Gangs& gangs, LiveMemory& live)
    : sdp_(gangs.sdp), rdp_(gangs.rdp), live_(live), model_(layers, options) {
  const std::size_t size = padded(model_.element_count(), sdp_->size());
  const std::size_t shard = size / static_cast<std::size_t>(sdp_->size());
  const std::vector<double> flat = flatten(model_, &ModelParameter::value, size);
  const auto first = flat.begin() + static_cast<std::ptrdiff_t>(shard) * sdp_->rank();
  values_.assign(first, first + static_cast<std::ptrdiff_t>(shard));
  gradients_.resize(shard);
  velocity_.resize(shard);
  for (ModelParameter* parameter : model_.parameters()) {
    extents_.push_back({parameter->value.rows(), parameter->value.cols()});
    parameter->value.resize(0, 0);
    parameter->gradient.resize(0, 0);
  }
}

Eigen::Index ShardedUnit::padded_elements() const noexcept {
  return static_cast<Eigen::Index>(values_.size()) * sdp_->size();
}

void ShardedUnit::start_gather() {
  if (is_whole_ || gathering_) return;
  live_.values.add(padded_elements());
  gathered_.resize(static_cast<std::size_t>(padded_elements()));
  gathering_ = sdp_->start_all_gather(view(gathered_), view(values_), {.label = "values"});
}

void ShardedUnit::gather() {
  if (is_whole_) return;
  start_gather();
  gathering_->wait();
  gathering_.reset();
  unflatten(gathered_, &ModelParameter::value);
  gathered_ = {};
  is_whole_ = true;
}

void ShardedUnit::release() {
  for (ModelParameter* parameter : model_.parameters()) parameter->value.resize(0, 0);
  is_whole_ = false;
  live_.values.remove(padded_elements());
}

void ShardedUnit::unflatten(const std::vector<double>& flat, Matrix ModelParameter::* member) {
  const double* from = flat.data();
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    Matrix& matrix = model_.parameters()[i]->*member;
    matrix = Eigen::Map<const Matrix>(from, extents_[i].rows, extents_[i].columns);
    from += matrix.size();
  }
}

void ShardedUnit::gather_gradients() {
  std::vector<double> flat(static_cast<std::size_t>(padded_elements()));
  sdp_->all_gather(view(flat), view(gradients_), {.label = "gradients to compare"});
  unflatten(flat, &ModelParameter::gradient);
}

Matrix ShardedUnit::forward(const Matrix& input, Activations& activations) {
  return model_.forward(input, activations);
}

Matrix ShardedUnit::backward(const Matrix& output_gradient, Activations& activations) {
  live_.gradients.add(padded_elements());
  for (ModelParameter* parameter : model_.parameters())
    parameter->gradient = Matrix::Zero(parameter->value.rows(), parameter->value.cols());
  return model_.backward(output_gradient, activations);
}

void ShardedUnit::start_reduce() {
  scattered_ =
      flatten(model_, &ModelParameter::gradient, static_cast<std::size_t>(padded_elements()));
  for (ModelParameter* parameter : model_.parameters()) parameter->gradient.resize(0, 0);
  reducing_ = sdp_->start_reduce_scatter(view(gradients_), view(scattered_), ReduceOperation::sum,
                                         {.label = "gradients"});
}

void ShardedUnit::finish_reduce() {
  reducing_->wait();
  reducing_.reset();
  scattered_ = {};
  live_.gradients.remove(padded_elements());
  rdp_->all_reduce(view(gradients_), ReduceOperation::sum, {.label = "gradients of replicas"});
}

void ShardedUnit::step(const SgdOptions& options, double samples) {
  update(options,
         {.values = values_, .gradients = gradients_, .velocity = velocity_, .samples = samples});
}

LiveMemory planned_memory(std::span<const Eigen::Index> sizes, bool prefetch) {
  LiveMemory plan;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Eigen::Index with_next = i + 1 < sizes.size() ? sizes[i] + sizes[i + 1] : sizes[i];
    plan.values.most = std::max(plan.values.most, prefetch ? with_next : sizes[i]);
    plan.gradients.most = std::max(plan.gradients.most, with_next);
  }
  return plan;
}

}  // namespace gang::harness::training
