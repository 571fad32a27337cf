// What benchmarks on several processes over Gloo share.
#pragma once

#include <functional>
#include <memory>
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

// The main function of a benchmark called `name` with arguments PROCESSES [PAIRS]: runs `measure`
// in that many processes and prints what rank 0 measures. Returns the exit status.
int run_gloo_processes(std::string_view name, int argc, char** argv,
                       const std::function<nlohmann::json(const GlooRank&)>& measure);

}  // namespace gang::benchmarks
