// Call stacks of blocked contexts.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/report/report.h"
#include "sim/state/task.h"

namespace gang::sim {

class ContextTable;

// Walked by the blocked contexts themselves while the run ends, of one context of each group in the
// same call.
class CallStacks {
 public:
  // Chooses the contexts whose stacks to keep: those of the core first, at most a few.
  void want(const std::vector<BlockedCall>& blocked, ContextTable& contexts);

  // Walks the stack of `self`, which is the calling context, if it is wanted.
  void note(const Task& self);

  // Names the frames, into BlockedCall::call_stack. `blocked` is what was given to `want`.
  void describe(std::vector<BlockedCall>& blocked) const;

 private:
  struct Stack {
    std::size_t blocked = 0;  // index of the call
    std::vector<std::uintptr_t> addresses;
  };

  std::map<TaskId, Stack> stacks_;
};

}  // namespace gang::sim
