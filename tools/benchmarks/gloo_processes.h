// What benchmarks share that measure on several processes over Gloo.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "gang/gang.h"
#include "gang/gloo/gloo_connector.h"

namespace gang::benchmarks {

// One of the processes, on a gang of all of them.
struct GlooRank {
  std::shared_ptr<Gang> gang;
  std::shared_ptr<GlooConnector> connector;
  int pairs = 0;  // of measurements
};

// main of a benchmark called `name` with the arguments PROCESSES [PAIRS]: runs `measure` in so many
// processes, and prints what that of rank 0 gives. The exit status.
int run_gloo_processes(std::string_view name, int argc, char** argv,
                       const std::function<nlohmann::json(const GlooRank&)>& measure);

}  // namespace gang::benchmarks
