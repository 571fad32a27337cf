// How long a client of a store waits for an answer.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "gang/store/file_store.h"
#include "gang/store/memory_store.h"
#include "gang/store/tcp_store.h"

namespace gang::benchmarks {
namespace {

using std::chrono_literals::operator""s;

// A value is set and read back: two operations.
void set_and_get(benchmark::State& state, Store& store, std::size_t size) {
  const std::vector<std::byte> value(size, std::byte{7});
  for ([[maybe_unused]] auto iteration : state) {
    store.set("key", value);
    benchmark::DoNotOptimize(store.get("key", 10s));
  }
  state.SetItemsProcessed(2 * state.iterations());
}

void memory_store_set_get(benchmark::State& state) {
  const std::unique_ptr<Runtime> runtime = make_real_runtime();
  set_and_get(state, *make_memory_store(*runtime), static_cast<std::size_t>(state.range(0)));
}
BENCHMARK(memory_store_set_get)->Arg(128);

void file_store_set_get(benchmark::State& state) {
  const std::unique_ptr<Runtime> runtime = make_real_runtime();
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("gangsim-benchmark-" + std::to_string(::getpid()));
  set_and_get(state, *make_file_store(*runtime, {.path = path}),
              static_cast<std::size_t>(state.range(0)));
  std::filesystem::remove(path);
}
BENCHMARK(file_store_set_get)->Arg(128);

// Arguments: dialect, bytes. The server is in the same process, on a thread of its own.
void tcp_store_set_get(benchmark::State& state) {
  const TcpStoreServer server;
  const auto dialect = static_cast<TcpStoreDialect>(state.range(0));
  const auto store = make_tcp_store({.port = server.port(), .dialect = dialect});
  set_and_get(state, *store, static_cast<std::size_t>(state.range(1)));
  state.SetLabel(std::string(to_string(dialect)));
}
BENCHMARK(tcp_store_set_get)
    ->Args({static_cast<int>(TcpStoreDialect::pytorch_2), 128})
    ->Args({static_cast<int>(TcpStoreDialect::pytorch_1_13), 128})
    ->Args({static_cast<int>(TcpStoreDialect::pytorch_2), 1 << 20})
    ->UseRealTime();

void tcp_store_add(benchmark::State& state) {
  const TcpStoreServer server;
  const auto store = make_tcp_store({.port = server.port()});
  for ([[maybe_unused]] auto iteration : state) benchmark::DoNotOptimize(store->add("n", 1));
}
BENCHMARK(tcp_store_add)->UseRealTime();

void tcp_store_connect(benchmark::State& state) {
  const TcpStoreServer server;
  for ([[maybe_unused]] auto iteration : state)
    benchmark::DoNotOptimize(make_tcp_store({.port = server.port()}));
}
BENCHMARK(tcp_store_connect)->UseRealTime();

}  // namespace
}  // namespace gang::benchmarks
