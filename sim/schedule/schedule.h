// A schedule: the choices of a run, as a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gang::sim {

enum class SchedulerKind : std::uint8_t {
  round_robin,  // the next runnable rank in cyclic order; switches only where a rank blocks
  random,       // uniform among the runnable; switches at every call too
  replay,       // the choices of a Schedule
  guided,       // those of a Guide
};

std::string_view to_string(SchedulerKind kind) noexcept;  // "round_robin", "random", ...
std::optional<SchedulerKind> parse_scheduler_kind(std::string_view text) noexcept;

// Contexts are numbered: 0 ... world-1 are the ranks' programs; others follow in the order in which
// they started.
using TaskId = std::uint32_t;

inline constexpr TaskId no_task = ~TaskId{0};

// One choice among several runnable contexts.
struct Choice {
  TaskId task = 0;             // who was chosen
  std::uint32_t runnable = 0;  // among how many

  friend bool operator==(const Choice&, const Choice&) = default;
};

// Whether ranks could be switched at every call or only where they block.
enum class SwitchPoints : std::uint8_t {
  blocking_calls,
  all_calls,
  calls_and_looks,  // the same, and the first test of an operation does not wait for others
  calls_and_tries,  // the same, nor do the next tests and yields, until some in a row were in vain
};

// The choices of a run: enough, with the program, the options and the seed, to repeat it exactly.
// Only choices among two or more contexts are kept; random numbers drawn by the engine are kept
// too. A value: copies, compares, prints and parses.
struct Schedule {
  SwitchPoints switch_points = SwitchPoints::blocking_calls;
  std::vector<Choice> choices;
  std::vector<std::uint64_t> draws;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// Text form, one line: "gangsim-schedule 1 blocking_calls 3/8 0/7 ... ; 17 42"; runs of equal steps
// are not folded. parse throws InvalidArgument naming the position of what is wrong.
std::string to_string(const Schedule& schedule);
Schedule parse_schedule(std::string_view text);

}  // namespace gang::sim
