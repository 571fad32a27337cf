// What a hybrid-parallel training run is, before any gang is made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/pipeline/message_plan.h"
#include "harness/pipeline/stage_split.h"
#include "harness/pipeline/stock_schedules.h"
#include "harness/program/parameter.h"
#include "harness/program/rank.h"
#include "harness/training/reference.h"

namespace gang::harness {

// What decides a hybrid run. 0 and "" stand for a default that depends on the rest. A value.
struct HybridOptions {
  int world_size = 1;
  int pp = 1;
  int tp = 1;
  int intra_node = 0;  // sdp of this many ranks of dp, over which gradients are sharded; 0: none
  std::string schedule = "1f1b";
  int stages_per_rank = 0;  // 0: two of interleaved_1f1b, else one
  int microbatches = 0;     // 0: two for each rank of pp
  SendForm messages = SendForm::batched;
  std::string split;  // the first layers of all stages but the first; "": even
  std::string model = "mlp";
  int hidden = 16;
  int layers = 0;   // linear layers, or blocks; 0: two for each stage, or one
  int samples = 1;  // of a microbatch
  int steps = 1;
  std::uint64_t data_seed = 1;

  friend bool operator==(const HybridOptions&, const HybridOptions&) = default;
};

// The parameters of a program that say all of it but the world.
std::vector<Parameter> hybrid_parameters();
HybridOptions hybrid_options(const Rank& rank);
HybridOptions hybrid_options(int world_size, const ParameterValues& parameters);

// A run that fits together. A resource: moved, not copied, because stages refer to its layers.
struct HybridPlan {
  HybridOptions options;
  int dp = 1;
  training::TrainingPlan training;  // `samples`: of the whole batch
  std::vector<StageLayers> stages;
  std::vector<int> peak_activations;  // of each rank of pp, by the schedule
  MessagePlan messages;

  HybridPlan() = default;
  HybridPlan(HybridPlan&&) = default;
  HybridPlan& operator=(HybridPlan&&) = default;

  const PipelineSizes& sizes() const noexcept { return messages.sizes; }

  // Columns of a microbatch.
  std::int64_t columns() const noexcept {
    return std::int64_t{options.samples} * training.model.sequence;
  }

  // Elements of what enters `stage`, on a rank of tp.
  std::int64_t boundary_count(int stage) const;

  // The stages of rank `rank` of pp, ascending.
  std::vector<int> stages_of(int rank) const;
};

// Throws InvalidArgument, saying which sizes would do, where they do not fit together.
HybridPlan make_hybrid_plan(const HybridOptions& options);

}  // namespace gang::harness
