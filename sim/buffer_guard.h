// Finds buffers that a program writes while an operation owns them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/pending_operation.h"

namespace gang::sim {

class Engine;

// Watches the memory of one started operation: its inputs, outputs and what the call names besides.
// A digest is taken when the operation starts; a different one later means that somebody has
// written. Reading an output leaves no trace and is not found.
class BufferGuard {
 public:
  // `pending` outlives the guard. Takes the first digest.
  explicit BufferGuard(const PendingOperation& pending);

  // A finding, once, if the memory has changed since the last digest.
  void check(Engine& engine);

  // Takes a new digest: the operation itself has written.
  void seal() { digest_ = digest(); }

 private:
  std::uint64_t digest() const noexcept;

  const PendingOperation& pending_;
  std::vector<TensorView> regions_;
  std::uint64_t digest_;
  bool has_reported_ = false;
};

}  // namespace gang::sim
