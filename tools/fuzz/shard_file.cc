// The files of an exploration's shards, joined.

#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/commands/shard_format.h"
#include "harness/run/run_file.h"
#include "tools/fuzz/fuzz_input.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace harness = gang::harness;
  gang::fuzz::Input input(data, size);
  const std::uint8_t kind = input.byte();
  static const std::vector<harness::ShardFormat> formats = harness::standard_shard_formats();
  try {
    const nlohmann::json shard = harness::parse_json(input.rest_text());
    formats[kind % formats.size()].merge({shard}, "gangsim");
  } catch (const gang::InvalidArgument&) {
  }
  return 0;
}
