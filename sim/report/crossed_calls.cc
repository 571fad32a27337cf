#include "sim/report/crossed_calls.h"

#include <fmt/format.h>

#include "sim/report/rank_text.h"

namespace gang::sim {

std::string to_string(const CrossedCalls& crossed) {
  const auto& [most, others, second] = crossed;
  return fmt::format(
      "{} called {} #{} on {} at {} and #{} at {}; {} called them the other way round. They "
      "matched, so each mixes data of both.",
      capitalised(ranks_text(others.ranks)), others.call.kind, others.call.sequence.value_or(0),
      to_string(others.gang), to_string(others.location), second, to_string(most.location),
      ranks_text(most.ranks));
}

std::string to_string(const std::vector<CrossedCalls>& crossed) {
  if (crossed.empty()) return "";
  std::string text = to_string(crossed.front());
  if (crossed.size() > 1) text += fmt::format(" And {} more such.", crossed.size() - 1);
  return text;
}

}  // namespace gang::sim
