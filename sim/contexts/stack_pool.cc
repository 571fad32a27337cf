#include "sim/contexts/stack_pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace gang::sim {
namespace {

std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

StackPool::StackPool(std::size_t stack_bytes)
    : stack_bytes_((stack_bytes + page_bytes() - 1) / page_bytes() * page_bytes()) {}

StackPool::~StackPool() {
  for (const Mapping& mapping : mappings_) ::munmap(mapping.base, mapping.bytes);
}

StackRow StackPool::reserve(std::size_t count) {
  const bool guarded = made_ + count <= most_guarded;
  const std::size_t stride = stack_bytes_ + (guarded ? page_bytes() : 0);
  const std::size_t bytes = stride * count;
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (base == MAP_FAILED) throw std::bad_alloc();
  mappings_.push_back({base, bytes});
  // A huge page would make every stack cost all of its bytes.
  ::madvise(base, bytes, MADV_NOHUGEPAGE);
  free_.reserve(free_.size() + count);
  auto* low = static_cast<std::byte*>(base);
  for (std::size_t i = count; i-- > 0;) {
    std::byte* stack = low + i * stride;
    if (guarded && ::mprotect(stack, page_bytes(), PROT_NONE) != 0) throw std::bad_alloc();
    free_.push_back(stack + stride);
  }
  made_ += count;
  return {.base = low, .stride = stride, .count = count};
}

void* StackPool::take() {
  constexpr std::size_t least = 16;
  if (free_.empty()) reserve(least);
  void* top = free_.back();
  free_.pop_back();
  return top;
}

}  // namespace gang::sim
