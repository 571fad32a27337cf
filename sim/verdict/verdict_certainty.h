// In which runs a deadlock happens.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/verdict/blocked_world.h"

namespace gang::sim {

struct World;

// Under what a deadlock has been seen, where that may matter.
inline constexpr std::string_view stream_condition = "under stream order";
std::string send_condition(SendMode sends);  // "with rendezvous sends", "with 64 bytes of buffer"

// "in every schedule: no choice point was passed", with `conditions` after the first words.
std::string certainty_text(Schedules schedules, std::string_view conditions = "");

// Decides, from the state at a deadlock, whether it can depend on how sends or streams work: the
// wait-for graph is reduced once more as if they held nobody up. What is dead even then is dead
// whatever they do. What is not may or may not come to its end: only another run tells
// (settled_certainty). Whether it depends on the schedule is known only where no choice point was
// passed.
class VerdictCertainty {
 public:
  // `world` is the one without assumptions, and outlives this.
  VerdictCertainty(const World& world, const BlockedWorld& blocked);

  // Of the deadlock that `context` is part of: "in every schedule with rendezvous sends: no choice
  // point was passed". O(1), but for the first call under each assumption.
  std::string of(const Task& context);

  // Whether `context` might go on if sends completed at once.
  bool depends_on_sends(const Task& context);

  // Whether it might go on if no operation were queued behind another.
  bool depends_on_streams(const Task& context);

 private:
  const World& world_;
  const BlockedWorld& blocked_;
  std::unique_ptr<BlockedWorld> with_complete_sends_;
  std::unique_ptr<BlockedWorld> without_streams_;
};

}  // namespace gang::sim
