// Addresses for tensors that have a size, but no contents.
#pragma once

#include <cstddef>

namespace gang::harness::program_file {

// Memory that takes no room as long as nobody writes to it. A resource.
class ReservedMemory {
 public:
  // Throws InvalidArgument if there are not so many addresses.
  explicit ReservedMemory(std::size_t bytes);
  ~ReservedMemory();
  ReservedMemory(const ReservedMemory&) = delete;
  ReservedMemory& operator=(const ReservedMemory&) = delete;

  std::byte* data() const noexcept { return data_; }  // null if it has no bytes

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace gang::harness::program_file
