// Finds buffers that a program touches while an operation owns them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "sim/matching/memory_fence.h"
#include "sim/state/gang_state.h"
#include "sim/state/pending_operation.h"

namespace gang::sim {

struct World;

// Watches the memory of one started operation: its inputs, its outputs and any other memory the
// call names.
//
// Writes: takes a digest when the operation starts; a different digest later means that the program
// has written. Exact for every buffer whose bytes differ in the end. Reads of outputs, and writes
// that leave no difference (a value that is put back): see MemoryFence for what it detects.
// Reading an input is allowed.
class BufferGuard {
 public:
  // `pending` must outlive the guard. Takes the first digest.
  explicit BufferGuard(const PendingOperation& pending)
      : pending_(pending), few_(few_of(*pending.operation)) {
    if (few_.empty()) add_regions();
    digest_ = digest();
  }

  // From now on the memory belongs to the operation.
  void close() { fence_.close(); }

  // Returns the memory to the program. Idempotent.
  void open() noexcept { fence_.open(); }

  // Opens. Reports a finding, at most once, if the memory was written since the last digest, by the
  // program or for another operation that it gave the memory to as well; or if it was read. Returns
  // whether there is such an operation.
  bool check(World& world) {
    fence_.open();
    const bool is_untouched = !has_lost_memory() && digest() == digest_ && !fence_.access();
    return !is_untouched && report_touch(world);
  }

  // The same if another operation in flight has the memory as well, whether or not that has changed
  // it.
  void check_shared(World& world);

  // Whether the program has freed memory that the operation owns, as far as that can be seen.
  bool has_lost_memory() const noexcept {
    return has_large_region_ && any_region([](const Elements& memory, bool /*is_output*/) {
             return !MemoryFence::is_mapped(memory);
           });
  }

  // Adds the finding for that, and returns its index.
  std::size_t report_loss(World& world);

  // Takes a new digest, because the operation itself has written, and closes.
  void seal() {
    digest_ = digest();
    fence_.close();
  }

 private:
  // Calls `visit(memory, is_output)` for each part of the memory. Returns true as soon as it does.
  template <typename Visit>
  bool any_region(const Visit& visit) const;
  template <typename Visit>
  bool any_listed_region(const Visit& visit) const;
  // All of its memory, if that is one region of a few bytes; else none. Nor where fences are fatal,
  // since what reads that memory has to be let in.
  static std::span<const std::byte> few_of(const Operation& operation) noexcept {
    const bool may_have_lists = operation.extras != &no_extras || !operation.guarded.empty();
    if (may_have_lists || MemoryFence::is_fatal) return {};
    const Elements& output = operation.output;
    const Elements& input = operation.input;
    if (output.data() != input.data() && output.count() != 0 && input.count() != 0) return {};
    const Elements& only = output.data() != input.data() && output.count() == 0 ? input : output;
    if (only.size_bytes() > sizeof digest_) return {};
    return {only.data(), only.size_bytes()};
  }
  [[gnu::noinline]] void add_regions();
  // Of few_: these bytes themselves.
  std::uint64_t digest() const noexcept {
    return few_.empty() ? digest_of_regions() : number_of_few();
  }
  std::uint64_t number_of_few() const noexcept {
    // Read as it was written: parts put together in memory would have to be waited for.
    if (std::uint32_t number = 0; few_.size() == sizeof number) [[likely]] {
      std::memcpy(&number, few_.data(), sizeof number);
      return number;
    }
    std::uint64_t number = 0;
    copy_few(reinterpret_cast<std::byte*>(&number), few_.data(), few_.size());
    return number;
  }
  std::uint64_t digest_of_regions() const noexcept;
  bool report_touch(World& world);
  std::size_t report(World& world, std::string_view what_was_done, const std::string& where = {});
  std::size_t add_finding(World& world, std::string predicate);
  bool report_shared(World& world);
  bool shares_memory_with(const BufferGuard& other) const noexcept;

  const PendingOperation& pending_;
  const std::span<const std::byte> few_;
  bool has_lists_ = false;         // some of the memory is in lists of the call
  bool has_large_region_ = false;  // which could be lost
  bool has_reported_ = false;
  std::uint64_t digest_;
  MemoryFence fence_;
};

template <typename Visit>
bool BufferGuard::any_region(const Visit& visit) const {
  const Operation& operation = *pending_.operation;
  const Collective& call = operation.collective;
  const bool is_source = call.kind == OperationKind::broadcast && call.peer == pending_.member;
  const auto visits = [&visit](const Elements& memory, bool is_output) {
    return memory.size_bytes() != 0 && visit(memory, is_output);
  };
  if (visits(operation.output, !is_source && call.kind != OperationKind::send)) return true;
  if (operation.output.data() != operation.input.data() && visits(operation.input, false))
    return true;
  return has_lists_ && any_listed_region(visits);
}

template <typename Visit>
bool BufferGuard::any_listed_region(const Visit& visit) const {
  const Operation& operation = *pending_.operation;
  for (const TensorView& input : operation.extras->inputs)
    if (visit(input, false)) return true;
  for (const TensorView& output : operation.extras->outputs)
    if (visit(output, true)) return true;
  for (const PointToPoint& entry : operation.extras->batch)
    if (visit(entry.tensor, entry.kind == OperationKind::recv)) return true;
  for (const TensorView& region : operation.guarded)
    if (visit(region, false)) return true;
  return false;
}

}  // namespace gang::sim
