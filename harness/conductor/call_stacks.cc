#include "harness/conductor/call_stacks.h"

#include <algorithm>

namespace gang::harness {
namespace {

bool calls_from(const RankProcess& process, const StackMessage::Thread& thread) {
  return thread.id != 0 && std::ranges::any_of(process.callers, [&](const auto& caller) {
           return caller->hello.thread == thread.id;
         });
}

}  // namespace

void add_stack(const StackMessage& stack, sim::BlockedCall& blocked, bool is_outside) {
  for (const StackMessage::Thread& thread : stack.threads) {
    if (stack.threads.size() > 1) blocked.call_stack.push_back({.function = thread.name + ":"});
    for (const CallSite& frame : thread.frames) {
      SourceLocation& kept = blocked.call_stack.emplace_back(location_of(frame));
      kept.function = frame.function;
    }
  }
  if ((blocked.location.empty() || is_outside) && !stack.threads.empty() &&
      !stack.threads.front().frames.empty())
    blocked.location = location_of(stack.threads.front().frames.front());
}

StackMessage watched_stack(const RankProcess& process,
                           std::span<const std::unique_ptr<RankProcess>> processes) {
  const StackMessage none;
  const StackMessage* own = nullptr;    // of this rank's watcher
  const StackMessage* other = nullptr;  // of another rank's, in the same process
  bool is_shared = false;
  for (const auto& each : processes) {
    if (each->id != process.id) continue;
    is_shared |= each.get() != &process;
    if (each->watcher && each->watcher->stack)
      (each.get() == &process ? own : other) = &*each->watcher->stack;
  }
  if (!is_shared) return own != nullptr ? *own : none;
  StackMessage stack = own != nullptr ? *own : other != nullptr ? *other : none;
  std::erase_if(stack.threads, [&](const auto& thread) { return !calls_from(process, thread); });
  return stack.threads.empty() && own != nullptr ? *own : stack;
}

}  // namespace gang::harness
