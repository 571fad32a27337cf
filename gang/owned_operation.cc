#include "gang/owned_operation.h"

#include <string>
#include <vector>

namespace gang {
namespace {

// Whether the operation refers to anything but tensors' memory and results.
bool borrows(const Operation& operation) noexcept {
  const std::size_t entries = operation.inputs.size() + operation.outputs.size() +
                              operation.input_splits.size() + operation.output_splits.size() +
                              operation.batch.size() + operation.ranks.size() +
                              operation.guarded.size() + operation.collective.label.size();
  return entries != 0;
}

template <typename T>
std::vector<T> copy_of(std::span<const T> list) {
  return {list.begin(), list.end()};
}

}  // namespace

struct OwnedOperation::Lists {
  explicit Lists(const Operation& operation)
      : inputs(copy_of(operation.inputs)),
        outputs(copy_of(operation.outputs)),
        input_splits(copy_of(operation.input_splits)),
        output_splits(copy_of(operation.output_splits)),
        batch(copy_of(operation.batch)),
        ranks(copy_of(operation.ranks)),
        guarded(copy_of(operation.guarded)),
        label(operation.collective.label) {}

  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;
  std::vector<std::int64_t> input_splits;
  std::vector<std::int64_t> output_splits;
  std::vector<PointToPoint> batch;
  std::vector<int> ranks;
  std::vector<TensorView> guarded;
  std::string label;
};

OwnedOperation::OwnedOperation(const Operation& operation) : operation_(operation) {
  if (borrows(operation)) own_lists();
}

OwnedOperation::~OwnedOperation() = default;

void OwnedOperation::own_lists() {
  lists_ = std::make_unique<const Lists>(operation_);
  operation_.inputs = lists_->inputs;
  operation_.outputs = lists_->outputs;
  operation_.input_splits = lists_->input_splits;
  operation_.output_splits = lists_->output_splits;
  operation_.batch = lists_->batch;
  operation_.ranks = lists_->ranks;
  operation_.guarded = lists_->guarded;
  operation_.collective.label = lists_->label;
}

}  // namespace gang
