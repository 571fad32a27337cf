#include "sim/report/stacks_text.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/text/rank_ranges.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_ways = 4;
// Of a longer stack, the frames next to the call and the outermost ones; one more takes no more
// room than to say so.
constexpr std::size_t most_frames = 8;
constexpr std::size_t outermost_frames = 2;

// Contexts that came to their calls the same way.
struct Way {
  std::span<const SourceLocation> frames;  // innermost first
  std::string context;
  std::vector<int> ranks;
};

// Without what the call itself has called, which is not the program's; up to what has no place, as
// the names of a process's other threads, whose stacks follow.
std::span<const SourceLocation> frames_of(const BlockedCall& call) {
  const auto first = std::ranges::find_if(call.call_stack, [&call](const SourceLocation& frame) {
    return frame.line != 0 && is_same_line(frame, call.location);
  });
  return std::span(first,
                   std::find_if(first, call.call_stack.end(),
                                [](const SourceLocation& frame) { return frame.line == 0; }));
}

void add_way(const BlockedCall& call, std::vector<Way>& ways) {
  const std::span<const SourceLocation> frames = frames_of(call);
  if (frames.size() < 2) return;
  for (Way& way : ways) {
    if (!std::ranges::equal(way.frames, frames)) continue;
    // One stack for several contexts of a rank, where it is not known whose it is.
    if (std::ranges::find(way.ranks, call.rank) != way.ranks.end()) return;
    if (way.context == call.context) return way.ranks.push_back(call.rank);
  }
  ways.push_back({.frames = frames, .context = call.context, .ranks = {call.rank}});
}

std::string frame_text(const SourceLocation& frame) {
  return frame.function.empty() ? to_string(frame)
                                : fmt::format("{} at {}", frame.function, to_string(frame));
}

std::string way_text(const Way& way) {
  std::string text =
      fmt::format("rank{} {}", way.ranks.size() == 1 ? "" : "s", to_rank_ranges(way.ranks, 3));
  if (!way.context.empty()) text += "/" + way.context;
  text += ": ";
  std::vector<std::string> frames;
  for (const SourceLocation& frame : way.frames) frames.push_back(frame_text(frame));
  if (frames.size() > most_frames + 1) {
    const std::size_t left_out = frames.size() - most_frames;
    const auto first = frames.end() - outermost_frames - static_cast<std::ptrdiff_t>(left_out);
    *frames.erase(first, first + static_cast<std::ptrdiff_t>(left_out) - 1) =
        fmt::format("{} more", left_out);
  }
  return text + fmt::format("{}", fmt::join(frames, ", from "));
}

}  // namespace

std::string stacks_text(const std::vector<BlockedCall>& blocked) {
  std::vector<Way> ways;
  for (const bool is_core : {true, false})
    for (const BlockedCall& call : blocked)
      if (call.is_core == is_core) add_way(call, ways);
  std::string text;
  for (std::size_t i = 0; i < std::min(ways.size(), most_ways); ++i) {
    std::ranges::sort(ways[i].ranks);
    text += (i == 0 ? "" : "\n") + way_text(ways[i]);
  }
  if (ways.size() > most_ways) text += fmt::format("\nand {} more", ways.size() - most_ways);
  return text;
}

}  // namespace gang::sim
