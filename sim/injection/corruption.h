// Data that is not what it was.
#pragma once

#include <array>
#include <cstddef>

#include "gang/tensor_view.h"
#include "sim/faults/fault_plan.h"
#include "sim/schedule/random_stream.h"

namespace gang::sim {

// An element as it was before.
struct SavedBytes {
  std::byte* place = nullptr;
  std::array<std::byte, 8> bytes{};
  std::size_t count = 0;

  void restore() const noexcept;
};

// Changes one drawn element of `tensor`, which has some: one bit of it, or a floating-point one to
// NaN (one bit of any other).
SavedBytes corrupt(const TensorView& tensor, Corruption how, RandomStream& stream);

}  // namespace gang::sim
