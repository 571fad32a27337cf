// Detects when a program touches memory that an operation owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "gang/tensor_view.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1  // NOLINT(bugprone-reserved-identifier): as GCC does
#endif
#endif

namespace gang::sim {

// How memory behind a fence was touched.
struct FenceAccess {
  bool is_write = false;
  std::uintptr_t instruction = 0;  // that touched the memory
};

// A fence around the memory of one started operation. Memory keeps no record of accesses, so the
// mechanism depends on the build:
//
//   - ordinary builds revoke access to the pages that lie wholly inside a region, or only the right
//     to write them. The first access faults, is noted, and restores access: the program continues.
//     A region that holds no whole page (4 KiB on x86-64) is not fenced; nor, against writes, a
//     small one, for which the fence would cost more than the operation.
//   - builds with AddressSanitizer poison the region, but for a last part of less than 8 bytes that
//     is followed by live memory; an access ends the process with "use-after-poison" and its call
//     stack. They do not fence regions that may be read.
//
// Threads: one fence is used by one thread at a time; different fences by any. The system call
// read() into closed memory fails with EFAULT. Where `most_fences` are closed at once, further ones
// stay open.
class MemoryFence {
 public:
  // What a fence keeps out.
  enum class Against : std::uint8_t { every_access, writes };

  static constexpr std::size_t most_fences = 2048;
  static constexpr std::size_t least_bytes_against_writes = 64 * 1024;
  static constexpr std::size_t least_bytes_unmapped = 64 * 1024;
  static constexpr bool is_fatal =
#if defined(__SANITIZE_ADDRESS__)
      true;
#else
      false;
#endif

  MemoryFence() = default;
  ~MemoryFence() { open(); }
  MemoryFence(const MemoryFence&) = delete;
  MemoryFence& operator=(const MemoryFence&) = delete;

  // Call before the first close. The memory is readable and writable afterwards.
  void add(const Elements& region, Against what = Against::every_access);

  void close() {
    if (!is_closed_ && !regions_.empty()) close_regions();
  }
  void open() noexcept {
    if (is_closed_) open_regions();
  }

  // An operation is about to touch its own memory: other fences around that memory, held by
  // operations that share it, must not end the process.
  static void let_in(const Elements& region) noexcept;

  // Whether the memory is still the program's: a large buffer that was freed may be gone.
  // Allocators keep the memory of smaller ones than `least_bytes_unmapped`.
  static bool is_mapped(const Elements& region) noexcept;

  // The first access since the last close, kept after open; empty if there was none.
  std::optional<FenceAccess> access() const noexcept { return access_; }

 private:
  void close_regions();
  void open_regions() noexcept;

  struct Region {
    std::byte* begin;
    std::size_t bytes;
    Against what;
    int slot = -1;  // in the list of the fault handler; -1: not closed
  };

  std::vector<Region> regions_;
  std::optional<FenceAccess> access_;
  bool is_closed_ = false;
};

}  // namespace gang::sim
