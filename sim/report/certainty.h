// In which runs a finding happens, as far as is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gang::sim {

struct FiredFault;

// What a finding rests on where nothing was run: recordings, and what they leave out.
struct RecordedEvidence {
  // A rank whose earlier calls its buffer no longer holds.
  struct Buffer {
    int rank = 0;
    std::uint64_t first = 0;  // the oldest record that it holds

    friend bool operator==(const Buffer&, const Buffer&) = default;
  };
  std::vector<int> missing;        // ranks without a dump, ascending
  std::vector<Buffer> overflown;   // by rank
  std::vector<std::string> notes;  // what else to know: "rank 3 has 2 dumps: the later one counts"

  friend bool operator==(const RecordedEvidence&, const RecordedEvidence&) = default;
};

// "as recorded; rank 5's dump is missing; rank 2's buffer begins at #1,204".
std::string to_string(const RecordedEvidence& evidence);

// In which schedules a finding happens, as far as one run can tell.
enum class Schedules : std::uint8_t { every, at_least_this };

// Something that could have come otherwise and that no Guide is told of.
enum class Unguided : std::uint8_t {
  backend,          // on another backend than sim: what aborts, closes, shrinking and faults meet
  link_buffers,     // when messages leave the buffer of a link
  threads_on_gang,  // which contexts of a rank are in calls at once: other backends, faults
  many_polls,       // how often a program polls
  shared_memory,    // how often a rank with threads yields
  clock,            // a program looked at the clock while it polled
  passing_time,     // when time passes after a test in vain
  stream_order,     // what is ahead of an operation on its stream when others meet it
  fault,            // when a fault strikes, or who learns of it
  outside,          // what processes outside the simulation do
};

// "more polls in a row than are explored".
std::string_view to_string(Unguided unguided) noexcept;

// Whether a finding depends on a condition of the run that another run can remove.
enum class Dependence : std::uint8_t {
  none,        // it happens regardless of the condition
  open,        // unknown: no run without the condition was made
  needed,      // a run without the condition completed, without findings
  not_needed,  // a run without the condition did not; see Certainty::otherwise
};

// A value. It claims only what was shown, by the state at the verdict or by a further run.
struct Certainty {
  Schedules schedules = Schedules::at_least_this;
  // Every schedule: not because the run made no choice, but because none of its choices is
  // contested, as a run with a Guide has shown.
  bool is_uncontested = false;
  // Not every schedule: one that decides a contested choice in the other way holds.
  bool is_avoided = false;
  Dependence sends = Dependence::none;          // that sends wait to be received
  std::optional<std::uint64_t> buffered_bytes;  // of the run's SendMode
  Dependence streams = Dependence::none;        // that a stream runs in launch order
  std::optional<int> resident_kernels;   // that devices run this many communicator kernels at once
  Dependence faults = Dependence::none;  // that faults were injected
  // For not_needed: the finding_id that the deciding run ended with, or its outcome; empty if it
  // ended with the same finding.
  std::string otherwise;
  // Of the deciding run: in which schedules it comes to that, for sends, streams and faults.
  Schedules decided_in = Schedules::every;
  std::optional<RecordedEvidence> recorded;  // of a recording; then it is what counts

  friend bool operator==(const Certainty&, const Certainty&) = default;
};

// "every schedule: the run made no scheduling choice". `faults` are those of the run; if the
// finding needs them, the first few are named.
std::string to_string(const Certainty& certainty, const std::vector<FiredFault>& faults);
std::string to_string(const Certainty& certainty);

}  // namespace gang::sim
