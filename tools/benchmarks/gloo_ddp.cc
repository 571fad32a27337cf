// What it is worth to reduce gradients while backward runs: steps of distributed data parallelism
// over Gloo with asynchronous and with blocking buckets, turn about. Prints JSON: the median time
// of either step and the median of the ratios of the pairs.
//
//   gloo_ddp PROCESSES [PAIRS]
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/gloo/gloo_gang.h"
#include "gang/gloo/store_connector.h"
#include "gang/store/file_store.h"
#include "harness/launcher.h"
#include "harness/training/batch.h"
#include "harness/training/gradient_buckets.h"
#include "harness/training/objective.h"
#include "harness/training/sgd.h"

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

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Rank 0's measurements. Who comes first alternates.
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

std::string run_rank(int rank, int size, int pairs, const std::filesystem::path& place) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const auto store = make_file_store(*runtime, {.path = place / "store"});
  const auto connector = make_loopback_connector(store, runtime);
  const auto gang = make_gloo_gang(
      {.connector = connector, .runtime = runtime, .rank = rank, .size = size, .prefix = "gang"});
  const nlohmann::json result = measure(gang, pairs);
  gang->barrier();
  return result.dump();
}

int main(int argc, char** argv) {
  const int size = argc > 1 ? std::atoi(argv[1]) : 2;
  const int pairs = argc > 2 ? std::atoi(argv[2]) : 101;
  if (size < 2 || pairs < 1) {
    std::fputs("gloo_ddp: accepted are at least 2 processes and 1 pair\n", stderr);
    return 2;
  }
  std::string place = (std::filesystem::temp_directory_path() / "gangsim-XXXXXX").string();
  if (::mkdtemp(place.data()) == nullptr) {
    std::perror(place.c_str());
    return 3;
  }
  const auto ends = harness::run_processes(
      size, [&](int rank) { return run_rank(rank, size, pairs, place); }, std::chrono::minutes(1));
  std::filesystem::remove_all(place);
  if (!ends.front().has_returned()) {
    fmt::print(stderr, "gloo_ddp: rank 0 {}\n", ends.front().death);
    return 3;
  }
  fmt::print("{}\n", ends.front().result);
  return 0;
}

}  // namespace
}  // namespace gang::benchmarks

int main(int argc, char** argv) { return gang::benchmarks::main(argc, argv); }
