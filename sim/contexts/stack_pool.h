// Stacks for fibers.
#pragma once

#include <cstddef>
#include <vector>

namespace gang::sim {

// `count` stacks of a mapping, taken from the lowest on; stacks grow down.
struct StackRow {
  std::byte* base = nullptr;
  std::size_t stride = 0;  // bytes from one stack to the next, whole pages
  std::size_t count = 0;
};

// Stacks of one size, cut from large mappings, reused after return. Only pages that are touched
// cost memory. While few stacks exist each has an inaccessible page below it, so that an overflow
// faults; the kernel bounds the number of such pages, and beyond `most_guarded` there are none.
//
// Threads: used by one thread at a time.
class StackPool {
 public:
  static constexpr std::size_t most_guarded = 8192;

  // `stack_bytes` is rounded up to whole pages.
  explicit StackPool(std::size_t stack_bytes);
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  std::size_t stack_bytes() const noexcept { return stack_bytes_; }

  // Makes `count` further stacks in one mapping, which are taken once none is left of those that
  // were given back. Throws std::bad_alloc.
  StackRow reserve(std::size_t count);

  // The high end of a stack (stacks grow down). Throws std::bad_alloc.
  void* take();

  void give_back(void* top) noexcept { free_.push_back(top); }

 private:
  struct Mapping {
    void* base;
    std::size_t bytes;
  };

  void* take_unused() noexcept;

  std::size_t stack_bytes_;
  std::vector<Mapping> mappings_;
  StackRow unused_;  // the rest of the last mapping, never taken so far
  std::vector<void*> free_;
  std::size_t made_ = 0;
};

}  // namespace gang::sim
