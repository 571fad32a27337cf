#include "harness/training/replicas.h"

#include "harness/program/digest.h"

namespace gang::harness::training {
namespace {

void add(Digest& digest, const Matrix& values) {
  digest.add(std::as_bytes(std::span(values.data(), static_cast<std::size_t>(values.size()))));
}

}  // namespace

void broadcast_values(std::span<ModelParameter* const> parameters, Gang& gang, int source_rank) {
  for (ModelParameter* parameter : parameters)
    gang.broadcast(elements(parameter->value), source_rank, {.label = parameter->name});
}

std::uint64_t digest_of(std::span<ModelParameter* const> parameters) {
  Digest digest;
  for (const ModelParameter* parameter : parameters) {
    digest.add(std::string_view{parameter->name});
    add(digest, parameter->value);
  }
  return digest.value();
}

std::uint64_t digest_of(const Matrix& values) {
  Digest digest;
  add(digest, values);
  return digest.value();
}

bool is_same_on_all(std::uint64_t digest, Gang& gang, std::string_view what) {
  std::uint64_t smallest = digest;
  std::uint64_t largest = digest;
  gang.all_reduce(view_of(smallest), ReduceOperation::min, {.label = what});
  gang.all_reduce(view_of(largest), ReduceOperation::max, {.label = what});
  return smallest == largest;
}

}  // namespace gang::harness::training
