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

// `layers` in `stages` parts. `specification` names the first layers of all stages but the first,
// "linear2,linear4"; where it is empty, the parts are as even as layers allow. The parts refer to
// `layers`.
//
// Throws InvalidArgument, saying what would do, where there are fewer layers than stages, or the
// specification names too many or too few layers, one that is not there, or leaves a stage empty.
std::vector<StageLayers> split_stages(StageLayers layers, int stages,
                                      std::string_view specification = {});

// Rows of the activation that leaves `layers`, the first layers of a model, on a rank of tp: after
// a column-parallel layer it has a part of them.
std::int64_t boundary_rows(StageLayers layers, int tp_size);

// Elements of this rank's part of the parameters of `layers`.
std::int64_t parameter_elements(StageLayers layers, int tp_size);

// The all_reduces over tp that `layers` perform in a pass, elements of each, in their order. For
// microbatches of `columns` columns.
struct TensorParallelCall {
  std::string_view label;
  std::int64_t count = 0;
};
std::vector<TensorParallelCall> forward_calls(StageLayers layers, std::int64_t columns);
std::vector<TensorParallelCall> backward_calls(StageLayers layers, std::int64_t columns);

}  // namespace gang::harness
