// What a gang over Gloo costs beside hand-written calls of Gloo: all_reduce, the same algorithm on
// the same kind of connections, in pairs, turn about. Prints JSON: for each size of tensor, the
// median time of either and the median of the ratios of the pairs.
//
//   gloo_all_reduce PROCESSES [PAIRS]
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/context.h>
#include <nlohmann/json.hpp>

#include "gang/gloo/gloo_gang.h"
#include "gang/gloo/store_connector.h"
#include "gang/store/file_store.h"
#include "harness/launcher.h"

namespace gang::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

// What a program would write that uses Gloo directly.
class RawContext final : public gloo::Context {
 public:
  explicit RawContext(std::shared_ptr<gloo::transport::Context> transport)
      : Context(transport->rank, transport->size) {
    transportContext_ = std::move(transport);
  }
};

void raw_all_reduce(const std::shared_ptr<gloo::Context>& context, std::vector<float>& values) {
  gloo::AllreduceOptions options(context);
  options.setOutput(values.data(), values.size());
  options.setReduceFunction([](void* result, const void* left, const void* right, size_t count) {
    auto* out = static_cast<float*>(result);
    const auto* a = static_cast<const float*>(left);
    const auto* b = static_cast<const float*>(right);
    for (size_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
  });
  gloo::allreduce(options);
}

template <typename Call>
double microseconds_per_call(int calls, const Call& call) {
  const auto began = Clock::now();
  for (int i = 0; i < calls; ++i) call();
  return std::chrono::duration<double, std::micro>(Clock::now() - began).count() / calls;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Rank 0's measurements of one size.
nlohmann::json measure(Gang& gang, const std::shared_ptr<gloo::Context>& raw, std::size_t bytes,
                       int pairs) {
  std::vector<float> values(bytes / sizeof(float), 0.0F);
  const int calls = static_cast<int>(std::clamp<std::size_t>((1U << 22U) / bytes, 4, 50));
  const auto by_gang = [&] { gang.all_reduce(view(values), ReduceOperation::sum); };
  const auto by_hand = [&] { raw_all_reduce(raw, values); };
  microseconds_per_call(calls, by_gang);
  microseconds_per_call(calls, by_hand);
  std::vector<double> gang_times;
  std::vector<double> raw_times;
  std::vector<double> ratios;
  for (int pair = 0; pair < pairs; ++pair) {
    // Whoever comes second finds warm caches: turn about.
    const bool gang_first = pair % 2 == 0;
    double first =
        gang_first ? microseconds_per_call(calls, by_gang) : microseconds_per_call(calls, by_hand);
    double second =
        gang_first ? microseconds_per_call(calls, by_hand) : microseconds_per_call(calls, by_gang);
    if (!gang_first) std::swap(first, second);
    gang_times.push_back(first);
    raw_times.push_back(second);
    ratios.push_back(first / second);
  }
  return {{"bytes", bytes},
          {"gang_us", median(gang_times)},
          {"raw_us", median(raw_times)},
          {"median_ratio", median(ratios)}};
}

std::string run_rank(int rank, int size, int pairs, const std::filesystem::path& place) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const auto store = make_file_store(*runtime, {.path = place / "store"});
  const auto connector = make_loopback_connector(store, runtime);
  const auto gang = make_gloo_gang(
      {.connector = connector, .runtime = runtime, .rank = rank, .size = size, .prefix = "gang"});
  const std::shared_ptr<gloo::Context> raw =
      std::make_shared<RawContext>(connector->connect({"raw", rank, size}, default_timeout));
  nlohmann::json results = nlohmann::json::array();
  for (const std::size_t bytes : {4U, 4096U, 1U << 20U, 1U << 24U})
    results.push_back(measure(*gang, raw, bytes, pairs));
  gang->barrier();
  return results.dump();
}

int main(int argc, char** argv) {
  const int size = argc > 1 ? std::atoi(argv[1]) : 2;
  const int pairs = argc > 2 ? std::atoi(argv[2]) : 41;
  if (size < 2 || pairs < 1) {
    std::fputs("gloo_all_reduce: accepted are at least 2 processes and 1 pair\n", stderr);
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
    fmt::print(stderr, "gloo_all_reduce: rank 0 {}\n", ends.front().death);
    return 3;
  }
  fmt::print("{}\n", ends.front().result);
  return 0;
}

}  // namespace
}  // namespace gang::benchmarks

int main(int argc, char** argv) { return gang::benchmarks::main(argc, argv); }
