#include "harness/pipeline/communication_stages.h"

#include <algorithm>

namespace gang::harness {

CommunicationStages::CommunicationStages(const HybridPlan& plan, int pp_rank,
                                         std::shared_ptr<Gang> tp)
    : plan_(plan), tp_(std::move(tp)) {
  std::int64_t most = plan.columns();
  for (const int stage : plan.stages_of(pp_rank)) {
    const StageLayers layers = plan.stages[static_cast<std::size_t>(stage)];
    calls_.push_back({.forward = forward_calls(layers, plan.columns()),
                      .backward = backward_calls(layers, plan.columns())});
    for (const auto* calls : {&calls_.back().forward, &calls_.back().backward})
      for (const TensorParallelCall& call : *calls) most = std::max(most, call.count);
  }
  zeros_.resize(static_cast<std::size_t>(most));
}

StageBoundary CommunicationStages::boundary_before(int stage) const {
  return {DataType::f64, plan_.boundary_count(stage)};
}

void CommunicationStages::compute(const StagePass& pass, const PassTensors&) {
  if (pass.pass == Pass::backward_weight || tp_->size() == 1) return;
  const StageCalls& calls = calls_[static_cast<std::size_t>(pass.stage / plan_.sizes().ranks)];
  reduce(pass.pass == Pass::forward ? calls.forward : calls.backward);
  const bool is_last = pass.stage == plan_.sizes().stages() - 1;
  if (is_last && pass.pass == Pass::forward) reduce_loss();
}

void CommunicationStages::reduce(const std::vector<TensorParallelCall>& calls) {
  for (const TensorParallelCall& call : calls)
    tp_->all_reduce(view(zeros_).slice(0, call.count), ReduceOperation::sum, {.label = call.label});
}

// The calls of loss_of under cross-entropy.
void CommunicationStages::reduce_loss() {
  if (plan_.training.model.objective != training::Objective::cross_entropy) return;
  const TensorView row = view(zeros_).slice(0, plan_.columns());
  tp_->all_reduce(row, ReduceOperation::max, {.label = "largest score"});
  tp_->all_reduce(row, ReduceOperation::sum, {.label = "sum of exponentials"});
  tp_->all_reduce(row, ReduceOperation::sum, {.label = "score of the label"});
}

}  // namespace gang::harness
