// A program or a scenario as TOML, and its checks for small worlds.

#include "gang/error.h"
#include "harness/program_file/document.h"
#include "tools/fuzz/fuzz_input.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace program_file = gang::harness::program_file;
  const std::string text(gang::fuzz::Input(data, size).rest_text());
  try {
    const program_file::Document document = program_file::parse_document("fuzz.toml", text);
    gang::fuzz::require(document.source == text, "a document keeps its source");
    if (document.program_file == nullptr) return 0;
    for (const int world_size : {1, 4}) {
      try {
        program_file::validate(*document.program_file, world_size);
      } catch (const gang::InvalidArgument&) {
      }
    }
  } catch (const gang::InvalidArgument&) {
  }
  return 0;
}
