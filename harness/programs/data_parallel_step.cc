#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include <Eigen/Dense>
#include <fmt/format.h>

#include "gang/error.h"
#include "harness/programs/all_programs.h"
#include "sim/schedule/random_stream.h"

namespace gang::harness {
namespace {

using FloatMatrix = Eigen::MatrixXf;

constexpr int inputs = 8;
constexpr int outputs = 4;

// Two layers with a tanh between them and the mean squared error: small, but complete.
struct TwoLayers {
  FloatMatrix first;   // hidden x inputs
  FloatMatrix second;  // outputs x hidden
};

// Uniform in [-1, 1), a function of the seed and the name: the same on every rank.
FloatMatrix random_matrix(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed,
                          std::string_view name) {
  sim::RandomStream stream{seed, name};
  return FloatMatrix::NullaryExpr(
      rows, columns, [&stream] { return static_cast<float>(2 * stream.uniform() - 1); });
}

struct Samples {
  FloatMatrix data;     // inputs x samples
  FloatMatrix targets;  // outputs x samples
};

Samples slice(const Samples& batch, Eigen::Index first, Eigen::Index count) {
  return {batch.data.middleCols(first, count), batch.targets.middleCols(first, count)};
}

// The gradient of the mean loss over `batch`.
TwoLayers backward(const TwoLayers& model, const Samples& batch) {
  const FloatMatrix hidden = (model.first * batch.data).array().tanh();
  const FloatMatrix error = model.second * hidden - batch.targets;
  const FloatMatrix scaled = error * (2.0F / static_cast<float>(batch.data.cols()));
  const FloatMatrix through =
      (model.second.transpose() * scaled).array() * (1 - hidden.array().square());
  return {through * batch.data.transpose(), scaled * hidden.transpose()};
}

TensorView view_of_matrix(FloatMatrix& matrix) {
  return {matrix.data(), DataType::f32, Shape::vector(matrix.size())};
}

// Whether `averaged` is as near to `whole` as rounding allows: each sum over samples and ranks has
// at most `terms` terms of at most `largest`, rounded to f32 once per term, in any order.
bool is_near(const FloatMatrix& averaged, const FloatMatrix& whole, std::int64_t terms) {
  constexpr double unit_roundoff = std::numeric_limits<float>::epsilon() / 2;
  const double largest = std::max(1.0F, whole.cwiseAbs().maxCoeff());
  const double bound = 4 * static_cast<double>(terms) * unit_roundoff * largest;
  const auto distance = (averaged - whole).cwiseAbs();
  // maxCoeff may miss a value that is not a number.
  return averaged.allFinite() && static_cast<double>(distance.maxCoeff()) <= bound;
}

// One rank's share of the training, which continues with the survivors when ranks fail.
class Training {
 public:
  explicit Training(Rank& rank)
      : rank_(rank),
        samples_(rank.parameter<Eigen::Index>("samples")),
        hidden_(rank.parameter<Eigen::Index>("hidden")),
        steps_(rank.parameter<std::int64_t>("steps")),
        seed_(rank.parameter<std::uint64_t>("data_seed")),
        model_{random_matrix(hidden_, inputs, seed_, "first"),
               random_matrix(outputs, hidden_, seed_, "second")},
        all_(batch_of_all()) {}

  void run() {
    std::shared_ptr<Gang> gang = rank_.root();
    bool is_agreed = true;
    while (!try_to_finish(*gang, is_agreed)) {
      gang = gang->shrink();
      is_agreed = false;
    }
    const std::string_view after = gang == rank_.root() ? "" : " after a failure";
    rank_.output(fmt::format("first{}", after), view_of_matrix(gradient_.first));
    rank_.output(fmt::format("second{}", after), view_of_matrix(gradient_.second));
  }

 private:
  // Uniform data for all ranks, including failed ones.
  Samples batch_of_all() const {
    const Eigen::Index count = samples_ * rank_.world_size();
    return {random_matrix(inputs, count, seed_, "data"),
            random_matrix(outputs, count, seed_, "targets")};
  }

  Samples batch_of(int rank) const { return slice(all_, rank * samples_, samples_); }

  // Takes the remaining steps; false if the gang broke. Some members may then be one step ahead of
  // others, so they agree on where to resume.
  bool try_to_finish(Gang& gang, bool is_agreed) {
    try {
      if (!is_agreed) go_back_to_common_step(gang);
      while (step_ < steps_) take_step(gang);
      return true;
    } catch (const GangError&) {
      return false;
    }
  }

  void go_back_to_common_step(Gang& gang) {
    std::int64_t common = step_;
    gang.all_reduce(view_of(common), ReduceOperation::min);
    if (common == step_) return;
    step_ = common;
    model_ = before_last_step_;
  }

  void take_step(Gang& gang) {
    gradient_ = backward(model_, batch_of(rank_.rank()));
    gang.all_reduce(view_of_matrix(gradient_.first), ReduceOperation::mean);
    gang.all_reduce(view_of_matrix(gradient_.second), ReduceOperation::mean);
    check_gradient(gang.info().root_ranks);
    before_last_step_ = model_;
    model_.first -= learning_rate * gradient_.first;
    model_.second -= learning_rate * gradient_.second;
    ++step_;
  }

  // Compares with one process that has the samples of all members.
  void check_gradient(std::vector<int> ranks) {
    if (ranks.empty())
      for (int rank = 0; rank < rank_.world_size(); ++rank) ranks.push_back(rank);
    const auto members = static_cast<Eigen::Index>(ranks.size());
    Samples batch{FloatMatrix(inputs, members * samples_),
                  FloatMatrix(outputs, members * samples_)};
    for (Eigen::Index i = 0; i < members; ++i) {
      const Samples own = batch_of(ranks[static_cast<std::size_t>(i)]);
      batch.data.middleCols(i * samples_, samples_) = own.data;
      batch.targets.middleCols(i * samples_, samples_) = own.targets;
    }
    const TwoLayers whole = backward(model_, batch);
    const std::int64_t terms = members * samples_ + hidden_ + inputs;
    if (is_near(gradient_.first, whole.first, terms) &&
        is_near(gradient_.second, whole.second, terms))
      return;
    rank_.wrong_result(fmt::format(
        "The averaged gradient on rank {} differs from that of one process on the whole batch.",
        rank_.rank()));
  }

  static constexpr float learning_rate = 0.05F;

  Rank& rank_;
  const Eigen::Index samples_;
  const Eigen::Index hidden_;
  const std::int64_t steps_;
  const std::uint64_t seed_;
  TwoLayers model_;
  TwoLayers before_last_step_;
  TwoLayers gradient_;
  const Samples all_;
  std::int64_t step_ = 0;
};

void validate_step(int world_size, const ParameterValues& parameters) {
  constexpr std::int64_t most = 1 << 22;
  const auto samples = parameters.get<std::int64_t>("samples");
  if (samples * world_size > most)
    throw InvalidArgument(fmt::format("samples {} times world {} is {}; must be at most {}",
                                      samples, world_size, samples * world_size, most));
}

}  // namespace

Program data_parallel_step_program() {
  return {
      .name = "data_parallel_step",
      .description = "training steps of a small model that survive failing ranks",
      .run = [](Rank& rank) { Training(rank).run(); },
      .parameters = {integer_parameter("samples", 4, {1, 4096}, "samples per rank"),
                     integer_parameter("hidden", 16, {1, 4096}, "hidden units"),
                     integer_parameter("steps", 2, {1, 10'000}, "training steps"),
                     integer_parameter("data_seed", 1, {0, 1'000'000}, "seed for model and batch")},
      .validate = validate_step,
      .default_world_size = 4};
}

}  // namespace gang::harness
