// Plans a hybrid-parallel training run before any gang is created.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/pipeline/message_plan.h"
#include "harness/pipeline/stage_split.h"
#include "harness/pipeline/stock_schedules.h"
#include "harness/program/parameter.h"
#include "harness/training/training_plan.h"

namespace gang::harness {

// Everything that decides a hybrid run. 0 and "" stand for a default that depends on the rest. A
// value.
struct HybridOptions {
  int world_size = 1;
  int pp = 1;
  int tp = 1;
  int intra_node = 0;  // size of sdp, the ranks of dp that shard gradients; 0: no sharding
  std::string schedule = "1f1b";
  int stages_per_rank = 0;  // 0: two for interleaved_1f1b, else one
  int microbatches = 0;     // 0: two per rank of pp
  SendForm messages = SendForm::batched;
  std::string split;  // the first layer of each stage but the first; "": even
  std::string model = "mlp";
  int hidden = 16;
  int layers = 0;   // linear layers (0: two per stage) or blocks (0: one per stage)
  int samples = 1;  // per microbatch
  int steps = 1;
  std::uint64_t data_seed = 1;

  friend bool operator==(const HybridOptions&, const HybridOptions&) = default;
};

// The program parameters for all of it except the world size.
std::vector<Parameter> hybrid_parameters();
HybridOptions hybrid_options(int world_size, const ParameterValues& parameters);

// A run whose sizes fit together. A resource: moved, not copied, because stages refer to its
// layers.
struct HybridPlan {
  HybridOptions options;
  int dp = 1;
  training::TrainingPlan training;  // `samples`: of the whole batch
  std::vector<StageLayers> stages;
  std::vector<int> peak_activations;  // of each rank of pp, by the pipeline schedule
  MessagePlan messages;

  HybridPlan() = default;
  HybridPlan(HybridPlan&&) = default;
  HybridPlan& operator=(HybridPlan&&) = default;

  const PipelineSizes& sizes() const noexcept { return messages.sizes; }

  // Columns of a microbatch.
  std::int64_t columns() const noexcept {
    return std::int64_t{options.samples} * training.model.sequence;
  }

  // Elements of the activation that enters `stage`, on a rank of tp.
  std::int64_t boundary_count(int stage) const;

  // The stages of rank `rank` of pp, ascending.
  std::vector<int> stages_of(int rank) const;
};

// Throws InvalidArgument, naming possible sizes, if the options do not fit together.
HybridPlan make_hybrid_plan(const HybridOptions& options);

}  // namespace gang::harness
