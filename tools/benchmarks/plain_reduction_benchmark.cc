// Every reduction against the plain loop that one would write for its type and operation.
#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include <benchmark/benchmark.h>

#include "gang/data_type.h"
#include "gang/half.h"
#include "gang/reduction.h"

namespace gang::benchmarks {
namespace {

constexpr int input_count = 8;

template <typename T>
constexpr std::size_t block_count = reduction_block_bytes / sizeof(T);

// A function of its own, so that the compiler vectorises it by itself.
template <typename T, typename Apply>
[[gnu::noinline]] void combine_plainly(T* __restrict into, const T* __restrict input, Apply apply) {
  for (std::size_t i = 0; i < block_count<T>; ++i) into[i] = apply(into[i], input[i]);
}

// The block in cache: that of each input, and the output.
template <typename T>
struct Block {
  std::vector<std::vector<T>> inputs{input_count, std::vector<T>(block_count<T>, T(1))};
  std::vector<T> output = std::vector<T>(block_count<T>);

  void reduce(ReduceOperation operation) {
    std::array<const void*, input_count> pointers{};
    std::ranges::transform(inputs, pointers.begin(),
                           [](const auto& input) { return input.data(); });
    reduce_block(operation, DataTypeOf<T>::value, output.data(), pointers.data(), input_count,
                 output.size());
  }

  template <typename Apply>
  void reduce_plainly(Apply apply) {
    std::ranges::copy(inputs[0], output.begin());
    for (std::size_t rank = 1; rank < inputs.size(); ++rank)
      combine_plainly(output.data(), inputs[rank].data(), apply);
  }
};

double ns_of(const auto& work) {
  constexpr int repeats = 4;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) {
    work();
    benchmark::ClobberMemory();
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - began).count();
}

// The speed of a reduction as a share of that of its loop, and which one is the slowest.
struct Slowest {
  double share = 1e9;
  std::string what;

  template <typename T, typename Apply>
  void take(Block<T>& block, ReduceOperation operation, Apply apply) {
    constexpr int rounds = 100;
    double ours = 1e18;
    double plain = 1e18;
    for (int i = 0; i < rounds; ++i) {  // in turns: machines are noisy
      ours = std::min(ours, ns_of([&] { block.reduce(operation); }));
      plain = std::min(plain, ns_of([&] { block.reduce_plainly(apply); }));
    }
    if (plain / ours >= share) return;
    share = plain / ours;
    what = std::string(to_string(DataTypeOf<T>::value)) + " " + std::string(to_string(operation));
  }
};

template <typename T>
void take_type(Slowest& slowest) {
  Block<T> block;
  using enum ReduceOperation;
  slowest.take(block, sum, [](T a, T b) { return static_cast<T>(a + b); });
  slowest.take(block, product, [](T a, T b) { return static_cast<T>(a * b); });
  // Whatever is not a number stays that, as in every reduction of min and max.
  slowest.take(block, min, [](T a, T b) { return a <= b || a != a ? a : b; });
  slowest.take(block, max, [](T a, T b) { return b <= a || a != a ? a : b; });
  if constexpr (std::is_integral_v<T>) {
    slowest.take(block, bitwise_and, [](T a, T b) { return static_cast<T>(a & b); });
    slowest.take(block, bitwise_or, [](T a, T b) { return static_cast<T>(a | b); });
    slowest.take(block, bitwise_xor, [](T a, T b) { return static_cast<T>(a ^ b); });
  }
}

// `slowest_share` is that of the reduction that the label names; below 1: slower than its loop.
void reductions_against_plain_loops(benchmark::State& state) {
  Slowest slowest;
  for ([[maybe_unused]] auto iteration : state) {
    slowest = {};
    std::apply([&](auto... one) { (take_type<decltype(one)>(slowest), ...); },
               std::tuple<std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t,
                          std::uint64_t, f16, bf16, float, double>{});
  }
  state.counters["slowest_share"] = slowest.share;
  state.SetLabel(slowest.what);
}
BENCHMARK(reductions_against_plain_loops)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gang::benchmarks
