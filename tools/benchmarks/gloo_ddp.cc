// What reducing gradients while backward runs gains: steps of distributed data parallelism over
// Gloo, with asynchronous and with blocking buckets, taking turns. Prints JSON: the median time of
// each step and the median ratio of the pairs.
//
//   gloo_ddp PROCESSES [PAIRS]
#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "harness/training/batch.h"
#include "harness/training/gradient_buckets.h"
#include "harness/training/objective.h"
#include "harness/training/sgd.h"
#include "tools/benchmarks/gloo_processes.h"
#include "tools/benchmarks/paired_times.h"

namespace gang::benchmarks {
namespace {

using namespace harness::training;
using Clock = std::chrono::steady_clock;

// Five layers of 2 MiB and two smaller ones, a bucket each, and a batch for which backward takes
// about as long as the reductions do.
constexpr MlpSizes sizes{.inputs = 256, .hidden = 512, .outputs = 64, .linears = 7};
constexpr Eigen::Index samples = 64;
constexpr Eigen::Index bucket_elements = 1 << 17;

// A model with its buckets, which takes steps.
class Trainer {
 public:
  Trainer(const std::shared_ptr<Gang>& gang, Overlap overlap)
      : model_(specification_.layers, build_options(specification_, 1)),
        batch_(make_batch(specification_, 1, gang->rank(), samples)),
        buckets_(model_.parameters(), gang,
                 {.bucket_elements = bucket_elements, .overlap = overlap}),
        sgd_(sgd_for(specification_.numbers), model_),
        all_samples_(static_cast<double>(samples * gang->size())) {}

  double microseconds_of_step() {
    const auto began = Clock::now();
    Activations activations;
    model_.zero_gradients();
    const Matrix outputs = model_.forward(batch_.inputs, activations);
    const Loss loss = loss_of(specification_.objective, outputs, batch_.targets);
    model_.backward(loss.gradient, activations,
                    [this](ModelParameter& parameter) { buckets_.ready(parameter); });
    buckets_.finish();
    sgd_.step(all_samples_);
    return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
  }

  std::size_t bucket_count() const noexcept { return buckets_.bucket_count(); }

 private:
  ModelSpecification specification_ = mlp(sizes);
  Model model_;
  Batch batch_;
  GradientBuckets buckets_;
  Sgd sgd_;
  double all_samples_;
};

// Rank 0's measurements. The two take turns at coming first.
nlohmann::json measure(const std::shared_ptr<Gang>& gang, int pairs) {
  Trainer asynchronous(gang, Overlap::asynchronous);
  Trainer blocking(gang, Overlap::blocking);
  std::vector<double> asynchronous_us;
  std::vector<double> blocking_us;
  std::vector<double> ratios;
  for (int i = -2; i < pairs; ++i) {
    const bool is_asynchronous_first = i % 2 == 0;
    double first = (is_asynchronous_first ? asynchronous : blocking).microseconds_of_step();
    double second = (is_asynchronous_first ? blocking : asynchronous).microseconds_of_step();
    if (!is_asynchronous_first) std::swap(first, second);
    if (i < 0) continue;  // both warm up
    asynchronous_us.push_back(first);
    blocking_us.push_back(second);
    ratios.push_back(first / second);
  }
  return {{"buckets", asynchronous.bucket_count()},
          {"asynchronous_us", median(asynchronous_us)},
          {"blocking_us", median(blocking_us)},
          {"median_ratio", median(ratios)}};
}

}  // namespace
}  // namespace gang::benchmarks

int main(int argc, char** argv) {
  using namespace gang::benchmarks;
  return run_gloo_processes("gloo_ddp", argc, argv,
                            [](const GlooRank& rank) { return measure(rank.gang, rank.pairs); });
}
