#include "tools/benchmarks/gloo_processes.h"

#include <chrono>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/gloo/gloo_gang.h"
#include "gang/store/file_store.h"
#include "harness/backends/launcher.h"
#include "harness/backends/meeting_place.h"

namespace gang::benchmarks {
namespace {

GlooRank join(int rank, int size, const harness::MeetingPlace& place) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const auto connector =
      make_loopback_connector(make_file_store(*runtime, {.path = place.store()}), runtime);
  return {.gang = make_gloo_gang({.connector = connector,
                                  .runtime = runtime,
                                  .rank = rank,
                                  .size = size,
                                  .prefix = "gang"}),
          .connector = connector};
}

}  // namespace

int run_gloo_processes(std::string_view name, int argc, char** argv,
                       const std::function<nlohmann::json(const GlooRank&)>& measure) {
  const int size = argc > 1 ? std::atoi(argv[1]) : 2;
  const int pairs = argc > 2 ? std::atoi(argv[2]) : 101;
  if (size < 2 || pairs < 1) {
    fmt::print(stderr, "{}: needs at least 2 processes and 1 pair\n", name);
    return 2;
  }
  try {
    const harness::MeetingPlace place;
    const auto run_rank = [&](int rank) {
      GlooRank self = join(rank, size, place);
      self.pairs = pairs;
      const nlohmann::json result = measure(self);
      self.gang->barrier();
      return result.dump();
    };
    const auto ends = harness::run_processes(size, run_rank, std::chrono::minutes(1));
    if (ends.front().has_returned()) {
      fmt::print("{}\n", ends.front().result);
      return 0;
    }
    fmt::print(stderr, "{}: rank 0 {}\n", name, ends.front().death);
  } catch (const std::system_error& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
  }
  return 3;
}

}  // namespace gang::benchmarks
