#include "sim/verdict/call_stacks.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "sim/contexts/call_stack.h"
#include "sim/engine/context_table.h"

namespace gang::sim {

void CallStacks::want(const std::vector<BlockedCall>& blocked, ContextTable& contexts) {
  constexpr std::size_t most_stacks = 32;
  std::vector<std::size_t> order(blocked.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_partition(order, [&blocked](std::size_t i) { return blocked[i].is_core; });
  std::set<std::pair<CallText, std::string>> groups;
  for (const std::size_t i : order) {
    const BlockedCall& call = blocked[i];
    if (stacks_.size() == most_stacks) break;
    if (!groups.emplace(call.call, to_string(call.location)).second) continue;
    const Task* context = &contexts.program_of(call.rank);
    if (!call.context.empty())
      contexts.for_each([&call, &context](const Task& task) {
        if (task.further && task.rank->rank == call.rank && task.further->name == call.context)
          context = &task;
      });
    stacks_[context->id].blocked = i;
  }
}

void CallStacks::note(const Task& self) {
  const auto wanted = stacks_.find(self.id);
  if (wanted != stacks_.end() && wanted->second.addresses.empty())
    wanted->second.addresses = walk_call_stack();
}

void CallStacks::describe(std::vector<BlockedCall>& blocked) const {
  for (const auto& [id, stack] : stacks_)
    blocked[stack.blocked].call_stack = describe_call_stack(stack.addresses);
}

}  // namespace gang::sim
