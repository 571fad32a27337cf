#include "harness/training/objective.h"

#include "gang/fake_gang.h"

namespace gang::harness::training {
namespace {

Loss squared_error(const Matrix& outputs, const Matrix& targets) {
  Matrix gradient = outputs - targets;
  const double sum = 0.5 * gradient.squaredNorm();
  return {sum, std::move(gradient)};
}

// Each rank knows the scores of its own tokens; together the ranks find the largest score, the sum
// of the exponentials and the score of the label.
Loss cross_entropy(const Matrix& scores, const Matrix& labels, Gang& tp) {
  const Eigen::Index first_token = scores.rows() * tp.rank();
  Matrix largest = scores.colwise().maxCoeff();
  tp.all_reduce(elements(largest), ReduceOperation::max, {.label = "largest score"});
  Matrix gradient = (scores.rowwise() - largest.row(0)).array().exp();
  Matrix totals = gradient.colwise().sum();
  tp.all_reduce(elements(totals), ReduceOperation::sum, {.label = "sum of exponentials"});
  gradient.array().rowwise() /= totals.row(0).array();

  Matrix of_label = Matrix::Zero(1, scores.cols());
  for (Eigen::Index i = 0; i < scores.cols(); ++i) {
    const auto token = static_cast<Eigen::Index>(labels(0, i)) - first_token;
    if (token < 0 || token >= scores.rows()) continue;
    of_label(0, i) = scores(token, i) - largest(0, i);
    gradient(token, i) -= 1;
  }
  tp.all_reduce(elements(of_label), ReduceOperation::sum, {.label = "score of the label"});
  const double sum = (totals.array().log() - of_label.array()).sum();
  return {sum, std::move(gradient)};
}

}  // namespace

Loss loss_of(Objective objective, const Matrix& outputs, const Matrix& targets,
             const std::shared_ptr<Gang>& tp) {
  if (objective == Objective::squared_error) return squared_error(outputs, targets);
  return cross_entropy(outputs, targets, tp ? *tp : *make_fake_gang());
}

}  // namespace gang::harness::training
