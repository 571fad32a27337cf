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
  auto* low = static_cast<std::byte*>(base);
  for (std::size_t i = 0; guarded && i < count; ++i)
    if (::mprotect(low + i * stride, page_bytes(), PROT_NONE) != 0) throw std::bad_alloc();
  free_.reserve(free_.size() + unused_.count + count);  // give_back cannot fail
  while (unused_.count > 0) free_.push_back(take_unused());
  made_ += count;
  unused_ = {.base = low, .stride = stride, .count = count};
  return unused_;
}

void* StackPool::take_unused() noexcept {
  --unused_.count;
  unused_.base += unused_.stride;
  return unused_.base;
}

void* StackPool::take() {
  constexpr std::size_t least = 16;
  if (free_.empty()) {
    if (unused_.count == 0) reserve(least);
    return take_unused();
  }
  void* top = free_.back();
  free_.pop_back();
  return top;
}

}  // namespace gang::sim
