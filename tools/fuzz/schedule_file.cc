// A saved schedule.

#include "harness/run/schedule_file.h"

#include "gang/error.h"
#include "tools/fuzz/fuzz_input.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace harness = gang::harness;
  harness::SavedSchedule saved;
  try {
    saved = harness::saved_schedule_from_text(gang::fuzz::Input(data, size).rest_text());
  } catch (const gang::InvalidArgument&) {
    return 0;
  }
  gang::fuzz::require(harness::saved_schedule_from_text(to_text(saved)) == saved,
                      "a schedule is read back from its file");
  return 0;
}
