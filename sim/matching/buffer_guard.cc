#include "sim/matching/buffer_guard.h"

#include <algorithm>

#include <fmt/format.h>

#include "gang/hash.h"
#include "sim/contexts/call_stack.h"
#include "sim/engine/engine.h"
#include "sim/report/finding_log.h"
#include "sim/state/gang_state.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

// " at train.cc:41"; empty if the binary has no such information.
std::string source_line_of(const FenceAccess& access) {
  for (const CallFrame& frame : describe_frame(access.instruction))
    if (!frame.location.empty()) return " at " + frame.location;
  return {};
}

}  // namespace

BufferGuard::BufferGuard(const PendingOperation& pending) : pending_(pending) {
  const Operation& operation = *pending.operation;
  const bool is_source = operation.collective.kind == OperationKind::broadcast &&
                         operation.collective.peer == pending.member;
  add(operation.output, !is_source && operation.collective.kind != OperationKind::send);
  if (operation.output.data() != operation.input.data()) add(operation.input, false);
  for (const TensorView& input : operation.inputs) add(input, false);
  for (const TensorView& output : operation.outputs) add(output, true);
  for (const PointToPoint& entry : operation.batch)
    add(entry.tensor, entry.kind == OperationKind::recv);
  for (const TensorView& region : operation.guarded) add(region, false);
  digest_ = digest();
}

void BufferGuard::add(const TensorView& region, bool is_output) {
  if (region.size_bytes() == 0) return;
  regions_.push_back(region);
  if (is_output) fence_.add(region);
}

std::uint64_t BufferGuard::digest() const noexcept {
  std::uint64_t digest = 0;
  for (const TensorView& region : regions_) MemoryFence::let_in(region);
  for (const TensorView& region : regions_)
    digest = hash_bytes({region.data(), region.size_bytes()}, digest);
  return digest;
}

void BufferGuard::seal() {
  digest_ = digest();
  fence_.close();
}

void BufferGuard::check(World& world) {
  fence_.open();
  if (has_lost_memory()) {
    if (!has_reported_) report(world, "freed");
    return;
  }
  const bool has_changed = digest() != digest_;  // digest() also lets the operation in
  if (has_reported_) return;
  if (has_changed)
    report(world, "wrote to");
  else if (const auto access = fence_.access())
    report(world, access->is_write ? "wrote to" : "read", source_line_of(*access));
}

bool BufferGuard::has_lost_memory() const noexcept {
  return !std::ranges::all_of(regions_, MemoryFence::is_mapped);
}

std::size_t BufferGuard::report_loss(World& world) {
  fence_.open();
  return report(world, "freed");
}

std::size_t BufferGuard::report(World& world, std::string_view what_was_done,
                                const std::string& where) {
  has_reported_ = true;
  Finding finding;
  finding.id = finding_id::buffer_in_flight;
  finding.ranks = {pending_.task->rank->rank};
  finding.gang = pending_.gang->gang_label();
  finding.call = describe(pending_.call());
  finding.location = to_string(pending_.call().call_site);
  std::string called;
  if (pending_.call().call_site.line != 0)
    called = fmt::format(" (called at {})", finding.location);
  std::string predicate = fmt::format(
      "{} a buffer of {}{}{} before waiting for it; buffers belong to the operation until "
      "wait or test says that it is complete.",
      what_was_done, to_string(finding.call), called, where);
  return world.findings.add_of_ranks(std::move(finding), std::move(predicate));
}

}  // namespace gang::sim
