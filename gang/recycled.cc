#include "gang/recycled.h"

#include <bit>

namespace gang {
namespace {

// Calls `f` with the KeptMemory whose pieces hold so many bytes, the next power of two; false: none
// does.
template <typename F>
bool with_pieces_of(std::size_t bytes, const F& f) {
  switch (std::bit_width((bytes - 1) / 32)) {
    case 0:
      return f(KeptMemory<32>()), true;
    case 1:
      return f(KeptMemory<64>()), true;
    case 2:
      return f(KeptMemory<128>()), true;
    case 3:
      return f(KeptMemory<256>()), true;
    case 4:
      return f(KeptMemory<512>()), true;
    case 5:
      return f(KeptMemory<1024>()), true;
    case 6:
      return f(KeptMemory<2048>()), true;
    case 7:
      return f(KeptMemory<4096>()), true;
    default:
      return false;
  }
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
