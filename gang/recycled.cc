#include "gang/recycled.h"

namespace gang {
namespace {

constexpr std::size_t largest_piece = 4096;

// Calls `f` with the KeptMemory of the smallest pieces, each a power of two, that hold so many
// bytes; false: none do.
template <std::size_t piece_bytes = 32, typename F>
bool with_pieces_of(std::size_t bytes, const F& f) {
  if (bytes <= piece_bytes) return f(KeptMemory<piece_bytes>()), true;
  if constexpr (piece_bytes < largest_piece) return with_pieces_of<2 * piece_bytes>(bytes, f);
  return false;
}

}  // namespace

void* take_list_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (with_pieces_of(bytes, [&memory](auto pieces) { memory = pieces.take(); })) return memory;
  return ::operator new(bytes);
}

void give_back_list_memory(void* memory, std::size_t bytes) noexcept {
  if (!with_pieces_of(bytes, [memory](auto pieces) { pieces.give_back(memory); }))
    ::operator delete(memory);
}

}  // namespace gang
