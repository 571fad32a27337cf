// What a gang over Gloo costs compared with hand-written calls of Gloo: all_reduce, by the same
// algorithm on the same kind of connections, in pairs that take turns. Prints JSON: for each size
// of tensor, the median time of each and the median ratio of the pairs.
//
//   gloo_all_reduce PROCESSES [PAIRS]
#include <algorithm>
#include <utility>
#include <vector>

#include <gloo/allreduce.h>
#include <gloo/context.h>
#include <nlohmann/json.hpp>

#include "tools/benchmarks/gloo_processes.h"
#include "tools/benchmarks/paired_times.h"

namespace gang::benchmarks {
namespace {

// What a program that uses Gloo directly would write.
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

// Rank 0's measurements of one size: pairs of two calls each, more if calls are short.
nlohmann::json measure(Gang& gang, const std::shared_ptr<gloo::Context>& raw, std::size_t bytes,
                       int pairs) {
  std::vector<float> values(bytes / sizeof(float), 0.0F);
  const int times = static_cast<int>(std::clamp<std::size_t>((1U << 20U) / bytes, 1, 25));
  const auto by_gang = [&] { gang.all_reduce(view(values), ReduceOperation::sum); };
  const auto by_hand = [&] { raw_all_reduce(raw, values); };
  nlohmann::json result = to_json(compare(2, pairs * times, by_gang, by_hand));
  result["bytes"] = bytes;
  return result;
}

nlohmann::json measure_all(const GlooRank& rank) {
  const std::shared_ptr<gloo::Context> raw = std::make_shared<RawContext>(
      rank.connector->connect({"raw", rank.gang->rank(), rank.gang->size()}, default_timeout));
  nlohmann::json results = nlohmann::json::array();
  for (const std::size_t bytes : {4U, 4096U, 1U << 20U, 1U << 24U})
    results.push_back(measure(*rank.gang, raw, bytes, rank.pairs));
  return results;
}

}  // namespace
}  // namespace gang::benchmarks

int main(int argc, char** argv) {
  using namespace gang::benchmarks;
  return run_gloo_processes("gloo_all_reduce", argc, argv, measure_all);
}
