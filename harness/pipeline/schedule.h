// A pipeline schedule as a value: the order in which each rank computes its passes.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gang::harness {

// A computation for one microbatch on one stage. A backward pass computes the gradients of the
// stage's input and of its weights; zero-bubble schedules compute the two separately.
enum class Pass : std::uint8_t { forward, backward, backward_input, backward_weight };

inline constexpr std::array all_passes = {Pass::forward, Pass::backward, Pass::backward_input,
                                          Pass::backward_weight};

// 'F', 'B', 'I', 'W'.
char letter_of(Pass pass) noexcept;

// How long a pass takes, in units of a forward pass: a whole backward pass 2, any other 1.
int duration_of(Pass pass) noexcept;

// Ranks, stages and microbatches of a pipeline. Stages go to the ranks in turn: stage s is on rank
// s mod `ranks`.
struct PipelineSizes {
  int ranks = 1;
  int stages_per_rank = 1;
  int microbatches = 1;

  int stages() const noexcept { return ranks * stages_per_rank; }
  int rank_of(int stage) const noexcept { return stage % ranks; }
  friend bool operator==(const PipelineSizes&, const PipelineSizes&) = default;
};

// "4 ranks, 2 stages per rank, 8 microbatches".
std::string to_string(const PipelineSizes& sizes);

struct StagePass {
  int stage = 0;
  int microbatch = 0;
  Pass pass = Pass::forward;

  friend bool operator==(const StagePass&, const StagePass&) = default;
};

// "2F0": stage, pass, microbatch. (The notation of PyTorch's pipelining schedules.)
std::string to_string(const StagePass& pass);

// What each rank computes, in order. Can hold any order; `check_schedule` checks that it is valid.
struct PipelineSchedule {
  PipelineSizes sizes;
  std::vector<std::vector<StagePass>> by_rank;

  friend bool operator==(const PipelineSchedule&, const PipelineSchedule&) = default;
};

// A number below `pass_count` for every pass of a pipeline of these sizes, for tables.
std::size_t index_of(const StagePass& pass, const PipelineSizes& sizes) noexcept;
std::size_t pass_count(const PipelineSizes& sizes) noexcept;

// A schedule as text: one line per rank, with passes separated by commas, as in "0F0,0F1,,0B0":
// stage, F, B, I or W, and microbatch. Cells may be empty. The passes determine the number of
// stages and microbatches.
// (The form of PyTorch's pipelining schedules before messages are added.)
//
// Throws InvalidArgument: `source` and the line, what is wrong, what is accepted. The result may
// still be an invalid schedule (check_schedule).
PipelineSchedule parse_schedule(std::string_view text, std::string_view source);

// The same form, without empty cells.
std::string to_text(const PipelineSchedule& schedule);

// What is wrong with `schedule`, in at most 8 sentences; empty if it is valid: every microbatch
// passes through every stage once, on the stage's rank, forward and then backward (whole, or input
// before weight), and no two passes wait for each other.
std::vector<std::string> check_schedule(const PipelineSchedule& schedule);

// The most activations that each rank stores at once, by rank: one per stage and microbatch, from
// its forward pass to the end of its backward (or backward weight) pass.
std::vector<int> peak_activations(const PipelineSchedule& schedule);

}  // namespace gang::harness
