#include "sim/matching/buffer_guard.h"

#include <algorithm>

#include <fmt/format.h>

#include "gang/hash.h"
#include "sim/contexts/call_stack.h"
#include "sim/engine/engine.h"
#include "sim/matching/sim_work.h"
#include "sim/report/finding_log.h"
#include "sim/state/gang_state.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

// " at train.cc:41"; empty if the binary has no such information.
std::string source_line_of(const FenceAccess& access) {
  for (const SourceLocation& frame : describe_frame(access.instruction))
    if (!frame.file.empty()) return " at " + to_string(frame);
  return {};
}

// "all_reduce #0 sum f32[4] (called at train.cc:41)".
std::string call_text(const PendingOperation& pending) {
  const CallSite& call_site = pending.call().call_site;
  const std::string call = to_string(describe(pending.call(), *pending.gang->info));
  return call_site.line() == 0 ? call
                               : fmt::format("{} (called at {})", call, to_string(call_site));
}

bool has_lists(const Operation& operation) noexcept {
  return !operation.extras->inputs.empty() || !operation.extras->outputs.empty() ||
         !operation.extras->batch.empty() || !operation.guarded.empty();
}

}  // namespace

void BufferGuard::add_regions() {
  has_lists_ = has_lists(*pending_.operation);
  any_region([this](const Elements& memory, bool is_output) {
    using Against = MemoryFence::Against;
    fence_.add(memory, is_output ? Against::every_access : Against::writes);
    if (memory.size_bytes() >= MemoryFence::least_bytes_unmapped) has_large_region_ = true;
    return false;
  });
}

std::uint64_t BufferGuard::digest_of_regions() const noexcept {
  std::uint64_t digest = 0;
  any_region([&digest](const Elements& memory, bool /*is_output*/) {
    if constexpr (MemoryFence::is_fatal) MemoryFence::let_in(memory);
    digest = hash_bytes({memory.data(), memory.size_bytes()}, digest);
    return false;
  });
  return digest;
}

bool BufferGuard::report_touch(World& world) {
  if (has_reported_) return false;
  if (has_lost_memory()) {
    report(world, "freed");
  } else if (digest() != digest_) {
    if (report_shared(world)) return true;
    report(world, "wrote to");
  } else if (const auto access = fence_.access()) {
    report(world, access->is_write ? "wrote to" : "read", source_line_of(*access));
  }
  return false;
}

void BufferGuard::check_shared(World& world) {
  if (!has_reported_) report_shared(world);
}

std::size_t BufferGuard::report_loss(World& world) {
  fence_.open();
  return report(world, "freed");
}

std::size_t BufferGuard::report(World& world, std::string_view what_was_done,
                                const std::string& where) {
  return add_finding(world,
                     fmt::format("{} a buffer of {}{} before waiting for it; buffers belong to the "
                                 "operation until wait or test says that it is complete.",
                                 what_was_done, call_text(pending_), where));
}

std::size_t BufferGuard::add_finding(World& world, std::string predicate) {
  has_reported_ = true;
  Finding finding;
  finding.id = finding_id::buffer_in_flight;
  finding.ranks = {pending_.task->rank->rank};
  finding.gang = pending_.gang->gang_label();
  finding.call = describe(pending_.call(), *pending_.gang->info);
  finding.location = location_of(pending_.call().call_site);
  return world.findings.add_of_repeated_call(std::move(finding), std::move(predicate));
}

bool BufferGuard::shares_memory_with(const BufferGuard& other) const noexcept {
  const auto overlap = [](const Elements& a, const Elements& b) {
    return a.data() < b.data() + b.size_bytes() && b.data() < a.data() + a.size_bytes();
  };
  return any_region([&other, &overlap](const Elements& own, bool is_own_output) {
    return other.any_region(
        [&own, &overlap, is_own_output](const Elements& memory, bool is_output) {
          return (is_own_output || is_output) && overlap(own, memory);
        });
  });
}

// One finding for both, about the one that was started later.
bool BufferGuard::report_shared(World& world) {
  bool is_listed = false;  // not while it is being posted
  for (SimWork* work = pending_.task->rank->works; work != nullptr; work = work->next_of_rank())
    is_listed = is_listed || &work->pending() == &pending_;
  bool is_older = !is_listed;  // of the works that follow, youngest first
  for (SimWork* work = pending_.task->rank->works; work != nullptr; work = work->next_of_rank()) {
    const PendingOperation& pending = work->pending();
    if (&pending == &pending_) {
      is_older = true;
      continue;
    }
    BufferGuard* const other = pending.guard;
    if (other == nullptr || !shares_memory_with(*other)) continue;
    BufferGuard& later = is_older ? *this : *other;
    const BufferGuard& earlier = is_older ? *other : *this;
    later.add_finding(world,
                      fmt::format("gave a buffer of {} to {} too, before waiting for it; "
                                  "buffers belong to one operation until wait or test says that "
                                  "it is complete.",
                                  call_text(earlier.pending_), call_text(later.pending_)));
    has_reported_ = other->has_reported_ = true;
    return true;
  }
  return false;
}

}  // namespace gang::sim
