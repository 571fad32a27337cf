#include "harness/conductor/shared_block.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "harness/conductor/frame.h"

namespace gang::harness {

SharedBlock::SharedBlock(const Descriptor& memory, std::size_t size) : size_(size) {
  // Beyond the end of the memory, access would be a signal: it must not become smaller.
  if ((::fcntl(memory.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0)
    throw ProtocolError("a block is not sealed against shrinking (F_SEAL_SHRINK)");
  struct stat status{};
  if (::fstat(memory.get(), &status) != 0 || size == 0 ||
      static_cast<std::size_t>(status.st_size) < size)
    throw ProtocolError(fmt::format("a block of {} bytes is not memory of that size", size));
  void* const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (data == MAP_FAILED)
    throw ProtocolError(
        fmt::format("a block of {} bytes cannot be mapped: {}", size, std::strerror(errno)));
  data_ = static_cast<std::byte*>(data);
}

SharedBlock::~SharedBlock() { ::munmap(data_, size_); }

}  // namespace gang::harness
