// A saved run.

#include "harness/run/run_file.h"

#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "tools/fuzz/fuzz_input.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace harness = gang::harness;
  harness::RunResult result;
  try {
    result = harness::run_result_from_text(gang::fuzz::Input(data, size).rest_text());
  } catch (const gang::InvalidArgument&) {
    return 0;
  }
  const std::string text = harness::to_file_text(result);
  gang::fuzz::require(harness::to_file_text(harness::run_result_from_text(text)) == text,
                      "a run is read back from its file");
  return 0;
}
