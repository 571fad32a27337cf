#include <cmath>
#include <limits>

#include <Eigen/Dense>
#include <fmt/format.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "sim/random_stream.h"

namespace gang::harness {
namespace {

using Matrix = Eigen::MatrixXf;

constexpr int inputs = 8;
constexpr int outputs = 4;

// Two layers, a tanh between them, the mean square error: small, and everything that a real model
// has.
struct Model {
  Matrix first;   // hidden x inputs
  Matrix second;  // outputs x hidden
};

// Uniform in [-1, 1), a function of the seed and the name: the same on every rank.
Matrix random_matrix(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed,
                     std::string_view name) {
  sim::RandomStream stream{seed, name};
  return Matrix::NullaryExpr(rows, columns,
                             [&stream] { return static_cast<float>(2 * stream.uniform() - 1); });
}

struct Batch {
  Matrix data;     // inputs x samples
  Matrix targets;  // outputs x samples
};

Batch slice(const Batch& batch, Eigen::Index first, Eigen::Index count) {
  return {batch.data.middleCols(first, count), batch.targets.middleCols(first, count)};
}

// The gradient of the mean loss over `batch`.
Model backward(const Model& model, const Batch& batch) {
  const Matrix hidden = (model.first * batch.data).array().tanh();
  const Matrix error = model.second * hidden - batch.targets;
  const Matrix scaled = error * (2.0F / static_cast<float>(batch.data.cols()));
  const Matrix through =
      (model.second.transpose() * scaled).array() * (1 - hidden.array().square());
  return {through * batch.data.transpose(), scaled * hidden.transpose()};
}

TensorView view_of_matrix(Matrix& matrix) {
  return {matrix.data(), DataType::f32, Shape::vector(matrix.size())};
}

// How far `averaged` may be from `whole`: each of the sums over samples and ranks has at most
// `terms` terms of at most `largest`, rounded to f32 once per term, in whatever order.
bool is_near(const Matrix& averaged, const Matrix& whole, std::int64_t terms) {
  constexpr double unit_roundoff = std::numeric_limits<float>::epsilon() / 2;
  const double largest = std::max(1.0F, whole.cwiseAbs().maxCoeff());
  const double bound = 4 * static_cast<double>(terms) * unit_roundoff * largest;
  return static_cast<double>((averaged - whole).cwiseAbs().maxCoeff()) <= bound;
}

void run_step(Rank& rank) {
  const auto samples = rank.parameter<Eigen::Index>("samples");
  const auto hidden = rank.parameter<Eigen::Index>("hidden");
  const Eigen::Index all_samples = samples * rank.world_size();
  const auto seed = rank.parameter<std::uint64_t>("data_seed");
  const Model model{random_matrix(hidden, inputs, seed, "first"),
                    random_matrix(outputs, hidden, seed, "second")};
  const Batch all{random_matrix(inputs, all_samples, seed, "data"),
                  random_matrix(outputs, all_samples, seed, "targets")};

  Model gradient = backward(model, slice(all, rank.rank() * samples, samples));
  rank.root()->all_reduce(view_of_matrix(gradient.first), ReduceOperation::mean);
  rank.root()->all_reduce(view_of_matrix(gradient.second), ReduceOperation::mean);

  const Model whole = backward(model, all);
  const std::int64_t terms = all_samples + hidden + inputs;
  if (!is_near(gradient.first, whole.first, terms) ||
      !is_near(gradient.second, whole.second, terms)) {
    rank.wrong_result(fmt::format(
        "The averaged gradient on rank {} is not that of one process on the whole batch.",
        rank.rank()));
  }
  rank.output("first", view_of_matrix(gradient.first));
  rank.output("second", view_of_matrix(gradient.second));
}

void validate_step(int world_size, const ParameterValues& parameters) {
  constexpr std::int64_t most = 1 << 22;
  const auto samples = parameters.get<std::int64_t>("samples");
  if (samples * world_size > most) {
    throw InvalidArgument(fmt::format("samples {} times world {} is too large; accepted: up to {}",
                                      samples, world_size, most));
  }
}

}  // namespace

Program data_parallel_step_program() {
  return {.name = "data_parallel_step",
          .description = "one training step of a small model, equal to one process on the batch",
          .run = run_step,
          .parameters = {integer_parameter("samples", 4, {1, 4096}, "samples of each rank"),
                         integer_parameter("hidden", 16, {1, 4096}, "hidden units"),
                         integer_parameter("data_seed", 1, {0, 1'000'000}, "of model and batch")},
          .validate = validate_step,
          .default_world_size = 4};
}

}  // namespace gang::harness
