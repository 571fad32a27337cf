// Data that is not what it was.
#pragma once

#include <array>
#include <cstddef>

#include "gang/operation.h"
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

// Whether a member contributes data to the operation.
bool contributes(const Operation& operation, int member);

// The memory that a member receives data in; empty for operations without.
TensorView result_of(const Operation& operation, int member);

// Whether the operation leaves the member's input as it was.
bool keeps_input(const Operation& operation, int member);

// Whether the fault is about what a rank contributes or receives.
bool is_of_data(FaultKind kind);

// Whether the operation has data that such a fault could happen to.
bool has_such_data(FaultKind kind, const Operation& operation, int member);

}  // namespace gang::sim
