// Call stacks of blocked contexts.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/report/report.h"
#include "sim/state/task.h"

namespace gang::sim {

class ContextTable;

// Blocked contexts walk their own stacks while the run ends: one context per group in the same
// call.
class CallStacks {
 public:
  // Chooses the contexts whose stacks to keep: those of the core first, at most a few.
  void want(const std::vector<BlockedCall>& blocked, ContextTable& contexts);

  // Walks the stack of `self`, the calling context, if it was chosen.
  void note(const Task& self);

  // Writes named frames to BlockedCall::call_stack. `blocked` is the list passed to `want`.
  void describe(std::vector<BlockedCall>& blocked) const;

 private:
  struct Stack {
    std::size_t blocked = 0;  // index of the call
    std::vector<std::uintptr_t> addresses;
  };

  std::map<TaskId, Stack> stacks_;
};

}  // namespace gang::sim
