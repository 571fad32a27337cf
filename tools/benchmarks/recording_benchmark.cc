// What a call costs that is recorded.
#include <memory>

#include <benchmark/benchmark.h>

#include "gang/fake_gang.h"
#include "gang/recording/recording_gang.h"
#include "gang/runtime.h"

namespace gang {
namespace {

// Calls on a gang that does nothing, recorded or not: the difference is the price of recording.
void fake_all_reduce(benchmark::State& state, bool is_recorded) {
  const auto runtime = make_real_runtime();
  std::shared_ptr<Gang> gang = make_fake_gang({.size = 2});
  if (is_recorded)
    gang = std::make_shared<RecordingGang>(
        gang, std::make_shared<CallRing>(CallRing::Options{.runtime = runtime.get()}));
  float value = 0;
  for ([[maybe_unused]] auto _ : state) {
    gang->all_reduce(view_of(value), ReduceOperation::max);
    benchmark::DoNotOptimize(value);
  }
}

// What the ring itself takes for a call from begin to end.
void recorded_call(benchmark::State& state) {
  const auto runtime = make_real_runtime();
  CallRing ring({.runtime = runtime.get()});
  const std::uint32_t gang = ring.add_gang({.name = "root", .root_ranks = {0}, .size = 1});
  Operation operation;
  operation.collective.kind = OperationKind::all_reduce;
  operation.collective.shape = Shape::vector(1024);
  for ([[maybe_unused]] auto _ : state) ring.complete(ring.begin(gang, operation));
}

BENCHMARK(recorded_call);
BENCHMARK_CAPTURE(fake_all_reduce, plain, false);
BENCHMARK_CAPTURE(fake_all_reduce, recorded, true);

}  // namespace
}  // namespace gang
