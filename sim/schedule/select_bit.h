// Finds one of the ones of a word.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gang::sim {

// The place of the one that has `index` ones below it. Requires that there is one.
int select_bit(std::uint64_t bits, std::size_t index) noexcept;

// The same, where the processor has no instruction for it.
int select_bit_by_loop(std::uint64_t bits, std::size_t index) noexcept;

}  // namespace gang::sim
