#include "sim/schedule/select_bit.h"

#include <bit>

namespace gang::sim {
namespace {

#if defined(__x86_64__)
[[gnu::target("bmi2")]] int select_bit_by_bmi2(std::uint64_t bits, std::size_t index) noexcept {
  return std::countr_zero(__builtin_ia32_pdep_di(std::uint64_t{1} << index, bits));
}
#endif

}  // namespace

// A loop ends after another number of turns each time, which no processor predicts.
int select_bit(std::uint64_t bits, std::size_t index) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("bmi2") != 0) return select_bit_by_bmi2(bits, index);
#endif
  return select_bit_by_loop(bits, index);
}

int select_bit_by_loop(std::uint64_t bits, std::size_t index) noexcept {
  for (; index > 0; --index) bits &= bits - 1;
  return std::countr_zero(bits);
}

}  // namespace gang::sim
