// A dump of PyTorch's Flight Recorder, a pickle or JSON, put together as that of a job.

#include "gang/error.h"
#include "harness/recording/dump.h"
#include "harness/recording/recording.h"
#include "tools/fuzz/fuzz_input.h"

namespace gang::fuzz {
namespace {

void join(std::string_view bytes) {
  CallTable calls;
  Dump dump = harness::read_dump(bytes, calls);
  const int rank = dump.rank.value_or(0);
  std::vector<harness::NamedDump> dumps;
  dumps.push_back({"rank_0", rank, std::move(dump)});
  const harness::Recording recording = join_dumps(std::move(dumps), std::move(calls));
  require(recording.world_size() > rank, "a recording has the rank of its dump");
}

}  // namespace
}  // namespace gang::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    gang::fuzz::join(gang::fuzz::Input(data, size).rest_text());
  } catch (const gang::InvalidArgument&) {
  }
  return 0;
}
