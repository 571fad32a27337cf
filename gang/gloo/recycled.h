// Objects that are made and dropped in every call.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace gang {

// Base of a class T, `class T final : ..., public Recycled<T>`: each thread keeps the memory of up
// to 64 dropped objects for its next ones, instead of freeing and allocating it again.
template <typename T>
class Recycled {
 public:
  static void* operator new(std::size_t bytes) {
    Kept& kept = kept_here();
    if (bytes != sizeof(T) || kept.first == nullptr) return ::operator new(bytes);
    --kept.count;
    Piece* const piece = kept.first;
    kept.first = piece->next;
    return piece;
  }

  static void operator delete(void* memory, std::size_t bytes) noexcept {
    Kept& kept = kept_here();
    if (bytes != sizeof(T) || kept.count == most) return ::operator delete(memory);
    ++kept.count;
    kept.first = new (memory) Piece{kept.first};
  }

 private:
  static constexpr std::size_t most = 64;

  struct Piece {
    Piece* next;
  };
  struct Kept {
    Piece* first = nullptr;
    std::size_t count = 0;
    ~Kept() {
      count = most;  // objects dropped later are freed
      while (first != nullptr) ::operator delete(std::exchange(first, first->next));
    }
  };

  static Kept& kept_here() noexcept {
    thread_local Kept kept;
    return kept;
  }
};

}  // namespace gang
