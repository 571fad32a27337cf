// Memory that a test shares with the conductor.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <stdexcept>

#include "harness/conductor/descriptor.h"

namespace gang::harness::conducted {

// Memory that a process can share.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t size)
      : descriptor_(::memfd_create("gangsim-test", MFD_CLOEXEC | MFD_ALLOW_SEALING)), size_(size) {
    if (::ftruncate(descriptor_.get(), static_cast<off_t>(size)) != 0 ||
        ::fcntl(descriptor_.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
      throw std::runtime_error("no shared memory");
    data_ = static_cast<std::byte*>(
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0));
  }
  ~SharedMemory() { ::munmap(data_, size_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  int descriptor() const noexcept { return descriptor_.get(); }
  std::size_t size() const noexcept { return size_; }
  template <typename T>
  T* at(std::size_t offset_bytes) const noexcept {
    return reinterpret_cast<T*>(data_ + offset_bytes);
  }

 private:
  Descriptor descriptor_;
  std::size_t size_;
  std::byte* data_ = nullptr;
};

}  // namespace gang::harness::conducted
