// How fast the reduction loops run, for each type, and what memory allows.
#include <cstring>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "gang/data_type.h"
#include "gang/reduction.h"

namespace gang::benchmarks {
namespace {

constexpr int input_count = 8;
constexpr std::size_t large_bytes = 16 * 1024 * 1024;

// Argument: data type. One block in cache, 8 inputs: the arithmetic.
void reduce_block_of_8(benchmark::State& state) {
  const auto type = static_cast<DataType>(state.range(0));
  const std::size_t count = reduction_block_bytes / size_bytes(type);
  std::vector<std::vector<std::byte>> inputs(input_count);
  std::vector<const void*> pointers;
  for (auto& input : inputs) {
    input.assign(reduction_block_bytes, std::byte{0});
    pointers.push_back(input.data());
  }
  std::vector<std::byte> output(reduction_block_bytes);
  for ([[maybe_unused]] auto iteration : state) {
    reduce_block(ReduceOperation::sum, type, output.data(), pointers.data(), input_count, count);
    benchmark::ClobberMemory();
  }
  state.SetLabel(std::string(to_string(type)));
  state.SetBytesProcessed(state.iterations() * input_count *
                          static_cast<std::int64_t>(reduction_block_bytes));
}
BENCHMARK(reduce_block_of_8)
    ->Arg(static_cast<int>(DataType::f32))
    ->Arg(static_cast<int>(DataType::f64))
    ->Arg(static_cast<int>(DataType::f16))
    ->Arg(static_cast<int>(DataType::bf16))
    ->Arg(static_cast<int>(DataType::i32))
    ->Arg(static_cast<int>(DataType::i64))
    ->Arg(static_cast<int>(DataType::u8));

// Sums elements [first, last) of the inputs, a block at a time, into all of them.
void sum_blocked(std::vector<std::vector<float>>& ranks, std::size_t first, std::size_t last) {
  constexpr std::size_t block = 4096;
  float sum[block];
  for (std::size_t start = first; start < last; start += block) {
    const std::size_t count = std::min(block, last - start);
    std::memcpy(sum, ranks[0].data() + start, count * sizeof(float));
    for (std::size_t rank = 1; rank < ranks.size(); ++rank) {
      const float* input = ranks[rank].data() + start;
      for (std::size_t i = 0; i < count; ++i) sum[i] += input[i];
    }
    for (auto& rank : ranks) std::memcpy(rank.data() + start, sum, count * sizeof(float));
  }
}

// What a 16 MiB all_reduce of 8 ranks is compared with: the same buffers, summed by two threads
// without gangsim.
void plain_sum_16_mib(benchmark::State& state) {
  std::vector<std::vector<float>> ranks(input_count);
  for (auto& rank : ranks) rank.assign(large_bytes / sizeof(float), 0.0F);
  constexpr std::size_t count = large_bytes / sizeof(float);
  for ([[maybe_unused]] auto iteration : state) {
    std::jthread second([&ranks] { sum_blocked(ranks, count / 2, count); });
    sum_blocked(ranks, 0, count / 2);
    second.join();
    benchmark::ClobberMemory();
  }
}
BENCHMARK(plain_sum_16_mib)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gang::benchmarks
