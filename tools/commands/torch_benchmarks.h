// What PyTorch programs cost on gangsim, beside PyTorch's own Gloo.
#pragma once

#include <vector>

#include "tools/commands/benchmark_table.h"

namespace gang::tools {

// Lines for `bench`; undecided where there is no PyTorch, or no build tree with the script.
std::vector<Benchmark> torch_benchmarks();

}  // namespace gang::tools
