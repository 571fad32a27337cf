// Objects and lists that are made and dropped again and again.
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace gang {

// The memory of dropped objects of one size, for the next ones: each thread keeps up to 64 pieces,
// instead of freeing and allocating them again.
template <std::size_t piece_bytes>
class KeptMemory {
 public:
  static void* take() {
    Kept& kept = kept_here;
    if (kept.first == nullptr) return ::operator new(piece_bytes);
    --kept.count;
    return std::exchange(kept.first, kept.first->next);
  }

  // `piece` was taken, by any thread.
  static void give_back(void* piece) noexcept {
    Kept& kept = kept_here;
    if (kept.count >= most) return ::operator delete(piece);
    thread_local const FreedAtEnd freed;
    ++kept.count;
    kept.first = new (piece) Piece{kept.first};
  }

 private:
#if defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t most = 0;  // so that uses of dropped objects are found
#else
  static constexpr std::size_t most = 64;
#endif

  struct Piece {
    Piece* next;
  };
  // Never destroyed: std::exit destroys objects of the thread, but a simulation goes on after it.
  struct Kept {
    Piece* first;
    std::size_t count;
  };
  struct FreedAtEnd {
    FreedAtEnd() noexcept {}  // NOLINT(modernize-use-equals-default): a const object
    ~FreedAtEnd() {
      kept_here.count = most;  // objects dropped later are freed
      while (kept_here.first != nullptr)
        ::operator delete(std::exchange(kept_here.first, kept_here.first->next));
    }
  };

  static constinit inline thread_local Kept kept_here = {};
};

// Base of a class T, `class T final : ..., public Recycled<T>`: made with new, it gets such memory.
template <typename T>
class Recycled {
 public:
  static void* operator new(std::size_t bytes) {
    return bytes == sizeof(T) ? KeptMemory<sizeof(T)>::take() : ::operator new(bytes);
  }

  static void operator delete(void* memory, std::size_t bytes) noexcept {
    bytes == sizeof(T) ? KeptMemory<sizeof(T)>::give_back(memory) : ::operator delete(memory);
  }
};

// The memory of dropped lists of some kilobytes at most, for lists of about their size; larger ones
// are allocated and freed. What was taken for `bytes`, by any thread, is given back with the same.
void* take_list_memory(std::size_t bytes);
void give_back_list_memory(void* memory, std::size_t bytes) noexcept;

// The same as an allocator: for std::allocate_shared, for lists, and for containers with nodes.
template <typename T>
class RecyclingAllocator {
 public:
  using value_type = T;

  RecyclingAllocator() = default;
  template <typename Other>
  RecyclingAllocator(const RecyclingAllocator<Other>&) noexcept {}  // NOLINT: allocators convert

  T* allocate(std::size_t count) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    void* const memory =
        count == 1 ? KeptMemory<sizeof(T)>::take() : take_list_memory(count * sizeof(T));
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, std::size_t count) noexcept {
    count == 1 ? KeptMemory<sizeof(T)>::give_back(memory)
               : give_back_list_memory(memory, count * sizeof(T));
  }

  friend bool operator==(const RecyclingAllocator&, const RecyclingAllocator&) = default;
};

// A list in such memory.
template <typename T>
using RecycledList = std::vector<T, RecyclingAllocator<T>>;

}  // namespace gang
