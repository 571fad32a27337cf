#include "sim/verdict/habit.h"

#include <algorithm>
#include <span>

#include "sim/verdict/deviation.h"

namespace gang::sim {
namespace {

// How often `second` came right after `first`.
std::size_t times(std::span<const SequenceStep> steps, Token first, Token second) {
  std::size_t found = 0;
  for (std::size_t i = 1; i < steps.size(); ++i)
    found += steps[i - 1].token == first && steps[i].token == second ? 1 : 0;
  return found;
}

}  // namespace

std::optional<Habit> find_habit(const CallSequences& sequences) {
  if (sequences.rank_count() != 2) return std::nullopt;
  const auto& one = sequences.of(0);
  const auto& other = sequences.of(1);
  const auto parted =
      std::ranges::mismatch(one, other, {}, &SequenceStep::token, &SequenceStep::token);
  if (parted.in1 == one.begin() || parted.in1 == one.end() || parted.in2 == other.end())
    return std::nullopt;
  const auto at = static_cast<std::size_t>(parted.in1 - one.begin());
  const std::span past = std::span(one).first(at);
  const Token last = past.back().token;
  const std::size_t as_one = times(past, last, parted.in1->token);
  const std::size_t as_other = times(past, last, parted.in2->token);
  if ((as_one == 0) == (as_other == 0)) return std::nullopt;
  const int usual = as_one != 0 ? 0 : 1;
  return Habit{.after = summary_of(sequences, {{0, at - 1}, {1, at - 1}}),
               .usual = summary_of(sequences, {{usual, at}}),
               .unusual = summary_of(sequences, {{1 - usual, at}}),
               .times = std::max(as_one, as_other)};
}

}  // namespace gang::sim
