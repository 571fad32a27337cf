// Corrupts tensor data.
#pragma once

#include <array>
#include <cstddef>

#include "gang/operation.h"
#include "gang/tensor_view.h"
#include "sim/faults/fault_plan.h"
#include "sim/schedule/random_stream.h"

namespace gang::sim {

// The original value of an element.
struct SavedBytes {
  std::byte* place = nullptr;
  std::array<std::byte, 8> bytes{};
  std::size_t count = 0;

  void restore() const noexcept;
};

// Changes one randomly drawn element of `tensor`, which must not be empty: flips one of its bits,
// or sets a floating-point element to NaN (other types: one bit).
SavedBytes corrupt(const Elements& tensor, Corruption how, RandomStream& stream);

// Whether a member contributes data to the operation.
bool contributes(const Operation& operation, int member);

// The memory in which a member receives data; empty if the operation delivers none.
Elements result_of(const Operation& operation, int member);

// Whether the operation leaves the member's input unchanged.
bool keeps_input(const Operation& operation, int member);

// Whether the fault affects what a rank contributes or receives.
bool is_of_data(FaultKind kind);

// Whether the operation has data that such a fault can affect.
bool has_such_data(FaultKind kind, const Operation& operation, int member);

}  // namespace gang::sim
