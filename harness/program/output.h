// The outputs of the ranks of a run, and their recorder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "gang/call_site.h"
#include "gang/data_type.h"
#include "gang/tensor_view.h"
#include "harness/program/digest.h"

namespace gang::harness {

// One named result of one rank. A value.
struct Output {
  std::string name;
  DataType type = DataType::f32;
  std::int64_t count = 0;
  std::vector<std::byte> data;  // count elements

  friend bool operator==(const Output&, const Output&) = default;
};

// The outputs of all ranks. `by_rank` is empty if only the digest was kept.
struct Outputs {
  std::uint64_t digest = 0;                  // of the ranks' digests, in rank order
  std::vector<std::vector<Output>> by_rank;  // in call order

  bool are_kept() const noexcept { return !by_rank.empty(); }
};

enum class KeepOutputs : std::uint8_t { digest_only, data };

// What a rank itself found wrong with its results.
struct WrongResults {
  std::vector<int> ranks;         // ascending
  std::string first_message;      // of the lowest of them
  SourceLocation first_location;  // empty if unknown
};

// Collects the outputs of a run: 8 bytes per rank, and the data only if asked for.
// Threads: ranks may record concurrently, each for itself.
class OutputRecorder {
 public:
  OutputRecorder(int world_size, KeepOutputs keep);

  // Discards what `rank` has recorded: its program starts, or restarts.
  void begin_rank(int rank);

  void record(int rank, std::string_view name, const TensorView& values);
  void record_wrong_result(int rank, std::string message, SourceLocation location = {});

  // A note about `rank` besides its results: kept, not digested; the last one counts.
  void record_note(int rank, std::string note);

  Outputs take_outputs();
  WrongResults wrong_results() const;
  std::vector<std::string> take_notes();  // by rank; empty if there is none at all

 private:
  std::vector<Digest> digests_;
  std::vector<std::vector<Output>> kept_;
  int world_size_;
  mutable std::mutex mutex_;  // of what follows
  std::vector<std::string> notes_;
  std::vector<int> wrong_ranks_;
  int first_wrong_rank_ = 0;
  std::string first_message_;
  SourceLocation first_location_;
};

}  // namespace gang::harness
