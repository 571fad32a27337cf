// Cuts a model into the stages of a pipeline.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/training/model_specification.h"

namespace gang::harness {

// The layers of one stage: part of the model's.
using StageLayers = std::span<const training::LayerSpecification>;

// Splits `layers` into `stages` parts, which refer to `layers`. `specification` names the first
// layer of every stage but the first, "linear2,linear4"; if it is empty, the parts are as even as
// possible.
//
// Throws InvalidArgument, saying what is possible, if there are fewer layers than stages, or the
// specification names too many or too few layers, an unknown one, or leaves a stage empty.
std::vector<StageLayers> split_stages(StageLayers layers, int stages,
                                      std::string_view specification = {});

// Rows of the activation that leaves `layers`, the first layers of a model, on a rank of tp, which
// has only part of the rows after a column-parallel layer.
std::int64_t boundary_rows(StageLayers layers, int tp_size);

// Elements in this rank's part of the parameters of `layers`.
std::int64_t parameter_elements(StageLayers layers, int tp_size);

// The all_reduces over tp in a pass through `layers`, in order, with their elements, for
// microbatches of `columns` columns.
struct TensorParallelCall {
  std::string_view label;
  std::int64_t count = 0;
};
std::vector<TensorParallelCall> forward_calls(StageLayers layers, std::int64_t columns);
std::vector<TensorParallelCall> backward_calls(StageLayers layers, std::int64_t columns);

}  // namespace gang::harness
