#include "harness/program_file/reserved_memory.h"

#include <sys/mman.h>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::harness::program_file {

ReservedMemory::ReservedMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED)
    throw InvalidArgument(
        fmt::format("a tensor of {} bytes does not fit into the addresses of a process", bytes));
  data_ = static_cast<std::byte*>(address);
}

ReservedMemory::~ReservedMemory() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace gang::harness::program_file
