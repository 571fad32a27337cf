// What a training run trains, and the program parameters that describe it. Free of Eigen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/program/parameter.h"
#include "harness/training/model_specification.h"
#include "harness/training/sgd.h"

namespace gang::harness::training {

struct Batch;

// A training run, on however many ranks. A value.
struct TrainingPlan {
  ModelSpecification model;
  SgdOptions sgd;
  std::uint64_t seed = 1;    // of initial values and data
  std::int64_t samples = 1;  // of a whole batch

  Batch batch(int step) const;
  Batch part(int step, int part, int parts) const;
};

// model (mlp, transformer), hidden, layers, samples (per data-parallel rank), steps, data_seed,
// compare (whether each rank also trains alone and compares).
std::vector<Parameter> training_parameters(std::string default_model);

// The plan that these parameters describe; the whole batch has the samples of
// `data_parallel_ranks` ranks.
TrainingPlan training_plan(const ParameterValues& parameters, int data_parallel_ranks);

// "mlp" or "transformer", of `hidden` units and `layers` linear layers or blocks. Throws
// InvalidArgument unless the heads of a transformer divide `hidden`.
ModelSpecification model_of(std::string_view name, int hidden, int layers);

// Throws InvalidArgument if a rank that compares its results cannot train on the whole batch, or
// the model cannot be built.
void validate_training(int data_parallel_ranks, const ParameterValues& parameters);

// The same for a program with a parameter tp, which must divide the world and the model.
void validate_tp_training(int world_size, const ParameterValues& parameters);

// 6: {1, 2, 3, 6}.
std::vector<std::int64_t> divisors_of(std::int64_t number);

// Throws InvalidArgument, listing the possible sizes, unless `size` divides `whole`:
// "tp 3 does not divide world 4; must be one of: 1, 2, 4".
void check_divides(std::string_view name, std::int64_t size, std::string_view whole_name,
                   std::int64_t whole);

// Throws InvalidArgument, listing the possible sizes, unless `intra_node` is 0 (no sharding) or a
// divisor of dp greater than 1.
void check_intra_node(std::int64_t intra_node, std::int64_t dp);

}  // namespace gang::harness::training
