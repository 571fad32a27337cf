// The commands that only gangsim has.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "harness/commands/command_line.h"
#include "harness/commands/shard_format.h"
#include "harness/commands/shard_option.h"
#include "properties/property.h"
#include "tools/commands/benchmark_table.h"

namespace gang::tools {

// `bench`: is gangsim as fast as it promises? `table` makes its lines.
std::unique_ptr<harness::Command> make_bench_command(
    std::function<std::vector<Benchmark>(Thoroughness)> table = all_benchmarks);

// `check`: those of `properties` that are about the chosen backend and that the filters choose.
// `variables` are read when it runs; they are those of the process, except in tests.
std::unique_ptr<harness::Command> make_check_command(
    std::vector<properties::Property> properties,
    harness::ReadEnvironment variables = process_environment);

// Its JSON, for `merge`.
harness::ShardFormat check_shard_format();

// The properties, for `list`.
harness::Listing list_properties(std::vector<properties::Property> properties);

}  // namespace gang::tools
