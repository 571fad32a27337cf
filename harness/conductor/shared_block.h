// Memory that a rank's process shares with the conductor.
#pragma once

#include <cstddef>
#include <memory>

#include "harness/conductor/descriptor.h"

namespace gang::harness {

// A mapping of the memory behind a descriptor. Unmapped with its last owner.
class SharedBlock {
 public:
  // Throws ProtocolError if the descriptor is not memory of that size.
  SharedBlock(const Descriptor& memory, std::size_t size);
  ~SharedBlock();
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
};

}  // namespace gang::harness
