// Calls that have met and cannot complete.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "sim/state/gang_state.h"

namespace gang::sim {

struct World;
class Matching;

// Calls that differ fail once no context can run, before time passes: so every schedule finds the
// same ones, whatever else they lead to. Called under the engine's Guard.
class Mismatches {
 public:
  Mismatches(World& world, Matching& matching) noexcept : world_(world), matching_(matching) {}

  // All members have come to the oldest operation of `gang`, and differ.
  void add(GangState& gang) { gangs_.push_back(&gang); }

  // Two messages have met that differ.
  void add(PendingOperation& send, PendingOperation& receive);

  // Breaks the gangs of those that were added, with findings. Returns whether there were any.
  bool fail_complete();

  // At the verdict: the same, and of differing calls that wait for further members.
  bool fail_all();

  // Breaks the gang at once if the program has freed a buffer of one of `members`, which have met.
  // Returns whether it has.
  bool fail_without_memory(GangState& gang, std::span<PendingOperation* const> members);

  // `gang` is broken: ends its messages that were added.
  void end_messages(const GangState& gang);

 private:
  World& world_;
  Matching& matching_;
  std::vector<GangState*> gangs_;
  std::vector<std::pair<PendingOperation*, PendingOperation*>> messages_;
};

}  // namespace gang::sim
