// Ranks that must hold the same values: copies the values, and checks that they are equal.
#pragma once

#include <span>
#include <string_view>

#include "gang/gang.h"
#include "harness/training/model.h"

namespace gang::harness::training {

// Gives every rank of `gang` the values of `source_rank`. Collective; one broadcast per parameter.
void broadcast_values(std::span<ModelParameter* const> parameters, Gang& gang, int source_rank = 0);

// A digest of names and values, bit for bit.
std::uint64_t digest_of(std::span<ModelParameter* const> parameters);
std::uint64_t digest_of(const Matrix& values);

// Whether all ranks of `gang` pass the same digest. Collective; two all_reduces of 8 bytes,
// labelled `what`.
bool is_same_on_all(std::uint64_t digest, Gang& gang, std::string_view what);

}  // namespace gang::harness::training
