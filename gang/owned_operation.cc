#include "gang/owned_operation.h"

namespace gang {

OwnedOperation::OwnedOperation(const Operation& operation)
    : operation_(operation),
      inputs_(operation.inputs.begin(), operation.inputs.end()),
      outputs_(operation.outputs.begin(), operation.outputs.end()),
      input_splits_(operation.input_splits.begin(), operation.input_splits.end()),
      output_splits_(operation.output_splits.begin(), operation.output_splits.end()),
      batch_(operation.batch.begin(), operation.batch.end()),
      ranks_(operation.ranks.begin(), operation.ranks.end()),
      guarded_(operation.guarded.begin(), operation.guarded.end()),
      label_(operation.collective.label) {
  operation_.inputs = inputs_;
  operation_.outputs = outputs_;
  operation_.input_splits = input_splits_;
  operation_.output_splits = output_splits_;
  operation_.batch = batch_;
  operation_.ranks = ranks_;
  operation_.guarded = guarded_;
  operation_.collective.label = label_;
}

}  // namespace gang
