#include "gang/owned_operation.h"

#include <string>
#include <vector>

namespace gang {
namespace {

template <typename T>
std::vector<T> copy_of(std::span<const T> list) {
  return {list.begin(), list.end()};
}

}  // namespace

struct OwnedOperation::Lists {
  explicit Lists(const Operation& operation)
      : inputs(copy_of(operation.extras->inputs)),
        outputs(copy_of(operation.extras->outputs)),
        input_splits(copy_of(operation.extras->input_splits)),
        output_splits(copy_of(operation.extras->output_splits)),
        batch(copy_of(operation.extras->batch)),
        ranks(copy_of(operation.extras->ranks)),
        guarded(copy_of(operation.guarded)),
        label(operation.collective.label),
        extras(*operation.extras) {
    extras.inputs = inputs;
    extras.outputs = outputs;
    extras.input_splits = input_splits;
    extras.output_splits = output_splits;
    extras.batch = batch;
    extras.ranks = ranks;
  }
  Lists(const Lists&) = delete;
  Lists& operator=(const Lists&) = delete;

  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;
  std::vector<std::int64_t> input_splits;
  std::vector<std::int64_t> output_splits;
  std::vector<PointToPoint> batch;
  std::vector<int> ranks;
  std::vector<TensorView> guarded;
  std::string label;
  OperationExtras extras;  // refer to the lists above
};

void OwnedOperation::Drop::operator()(const Lists* lists) const noexcept { delete lists; }

void OwnedOperation::own_lists() {
  lists_.reset(new Lists(operation_));
  operation_.extras = &lists_->extras;
  operation_.guarded = lists_->guarded;
  operation_.collective.label = lists_->label;
}

}  // namespace gang
