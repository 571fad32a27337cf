// Finds buffers that a program touches while an operation owns them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/matching/memory_fence.h"
#include "sim/state/pending_operation.h"

namespace gang::sim {

struct World;

// Watches the memory of one started operation: its inputs, outputs and what the call names besides.
//
// Writes: a digest is taken when the operation starts; a different one later means that somebody
// has written. Exact for every buffer. Reads of outputs: see MemoryFence, which says what it sees.
// Reading an input is allowed.
class BufferGuard {
 public:
  // `pending` outlives the guard. Takes the first digest.
  explicit BufferGuard(const PendingOperation& pending);

  // The outputs are the operation's from now on.
  void close() { fence_.close(); }

  // They are the program's again. Idempotent.
  void open() noexcept { fence_.open(); }

  // Opens. A finding, once, if the memory was touched: written since the last digest, or read.
  void check(World& world);

  // Takes a new digest, since the operation itself has written, and closes.
  void seal();

 private:
  std::uint64_t digest() const noexcept;
  void add(const TensorView& region, bool is_output);
  void report(World& world, std::string_view what_was_done, const std::string& where = {});

  const PendingOperation& pending_;
  std::vector<TensorView> regions_;
  std::uint64_t digest_;
  MemoryFence fence_;
  bool has_reported_ = false;
};

}  // namespace gang::sim
