#include <cmath>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/training/initial_values.h"
#include "harness/training/layer.h"

namespace gang::harness::training {
namespace {

enum Weight : std::uint8_t { query, key, value, output };
enum Kept : std::uint8_t { input, queries, keys, values, shares, mixed };

// Softmax of every column over its rows up to the diagonal; zero below it.
void attend_to_the_past(Matrix& scores) {
  for (Eigen::Index token = 0; token < scores.cols(); ++token) {
    auto seen = scores.col(token).head(token + 1);
    seen = (seen.array() - seen.maxCoeff()).exp();
    seen /= seen.sum();
    scores.col(token).tail(scores.rows() - token - 1).setZero();
  }
}

class Attention final : public Layer {
 public:
  Attention(const LayerSpecification& specification, const BuildOptions& options)
      : tp_(options.tp),
        name_(specification.name),
        heads_(specification.heads / tp_->size()),
        head_width_(specification.outputs / specification.heads),
        sequence_(specification.sequence) {
    const int width = specification.outputs;
    if (width % specification.heads != 0)
      throw InvalidArgument(fmt::format("{} has {} heads; must be a divisor of its width, {}",
                                        name_, specification.heads, width));
    for (const char* weight : {".query", ".key", ".value"}) {
      parameters_.push_back(make_parameter({.name = name_ + weight,
                                            .rows = width,
                                            .columns = width,
                                            .part = tp_->rank(),
                                            .row_parts = tp_->size()},
                                           options));
    }
    parameters_.push_back(make_parameter({.name = name_ + ".output",
                                          .rows = width,
                                          .columns = width,
                                          .part = tp_->rank(),
                                          .column_parts = tp_->size()},
                                         options));
  }

  Matrix forward(const Matrix& tokens, Saved& saved) override {
    const Matrix q = parameters_[query].value * tokens;
    const Matrix k = parameters_[key].value * tokens;
    const Matrix v = parameters_[value].value * tokens;
    const double scale = 1 / std::sqrt(static_cast<double>(head_width_));
    Matrix all_shares(sequence_, tokens.cols() * heads_);
    Matrix heads(q.rows(), tokens.cols());
    for (Eigen::Index first = 0; first < tokens.cols(); first += sequence_) {
      for (Eigen::Index head = 0; head < heads_; ++head) {
        const auto of = [&](const Matrix& all) {
          return all.block(head * head_width_, first, head_width_, sequence_);
        };
        Matrix share = scale * of(k).transpose() * of(q);
        attend_to_the_past(share);
        heads.block(head * head_width_, first, head_width_, sequence_) = of(v) * share;
        all_shares.middleCols(first * heads_ + head * sequence_, sequence_) = share;
      }
    }
    Matrix result = parameters_[output].value * heads;
    tp_->all_reduce(elements(result), ReduceOperation::sum, {.label = name_});
    saved.forward = {tokens, q, k, v, std::move(all_shares), std::move(heads)};
    return tokens + result;
  }

  Matrix backward_input(const Matrix& output_gradient, Saved& saved) override {
    const Matrix heads_gradient = parameters_[output].value.transpose() * output_gradient;
    const double scale = 1 / std::sqrt(static_cast<double>(head_width_));
    Matrix q(heads_gradient.rows(), heads_gradient.cols());
    Matrix k(q.rows(), q.cols());
    Matrix v(q.rows(), q.cols());
    for (Eigen::Index first = 0; first < q.cols(); first += sequence_) {
      for (Eigen::Index head = 0; head < heads_; ++head) {
        const auto of = [&](auto& all) {
          return all.block(head * head_width_, first, head_width_, sequence_);
        };
        const Matrix share =
            saved.forward[shares].middleCols(first * heads_ + head * sequence_, sequence_);
        const Matrix share_gradient = of(saved.forward[values]).transpose() * of(heads_gradient);
        const Eigen::RowVectorXd along = share.cwiseProduct(share_gradient).colwise().sum();
        const Matrix score_gradient = scale * share.cwiseProduct(share_gradient.rowwise() - along);
        of(q) = of(saved.forward[keys]) * score_gradient;
        of(k) = of(saved.forward[queries]) * score_gradient.transpose();
        of(v) = of(heads_gradient) * share.transpose();
      }
    }
    Matrix gradient = parameters_[query].value.transpose() * q +
                      parameters_[key].value.transpose() * k +
                      parameters_[value].value.transpose() * v;
    tp_->all_reduce(elements(gradient), ReduceOperation::sum, {.label = name_});
    saved.backward = {output_gradient, std::move(q), std::move(k), std::move(v)};
    return output_gradient + gradient;
  }

  void backward_weights(Saved& saved) override {
    const Matrix& tokens = saved.forward[input];
    parameters_[query].gradient += saved.backward[1] * tokens.transpose();
    parameters_[key].gradient += saved.backward[2] * tokens.transpose();
    parameters_[value].gradient += saved.backward[3] * tokens.transpose();
    parameters_[output].gradient += saved.backward[0] * saved.forward[mixed].transpose();
  }

 private:
  std::shared_ptr<Gang> tp_;
  std::string name_;
  Eigen::Index heads_;  // of this rank
  Eigen::Index head_width_;
  Eigen::Index sequence_;
};

}  // namespace

std::unique_ptr<Layer> make_attention(const LayerSpecification& specification,
                                      const BuildOptions& options) {
  return std::make_unique<Attention>(specification, options);
}

}  // namespace gang::harness::training
