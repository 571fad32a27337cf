// What processes of a run tell each other: outcomes of ranks, and notes of broken gangs.

#include "gang/error.h"
#include "gang/gang_cause.h"
#include "harness/backends/rank_outcome.h"
#include "tools/fuzz/fuzz_input.h"

namespace gang::fuzz {
namespace {

void check_outcome(std::string_view bytes) {
  harness::RankOutcome outcome;
  try {
    outcome = harness::rank_outcome_from_bytes(bytes);
  } catch (const InvalidArgument&) {
    return;
  }
  const std::string again = to_bytes(outcome);
  require(to_bytes(harness::rank_outcome_from_bytes(again)) == again,
          "an outcome is read back from its bytes");
}

void check_note(const std::string& note) {
  const std::optional<GangCause> cause = parse_note(note);
  if (cause) require(parse_note(to_note(*cause)) == cause, "a note is read back");
}

}  // namespace
}  // namespace gang::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gang::fuzz::Input input(data, size);
  if (input.byte() % 2 == 0)
    gang::fuzz::check_outcome(input.rest_text());
  else
    gang::fuzz::check_note(std::string(input.rest_text()));
  return 0;
}
