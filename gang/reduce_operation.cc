#include "gang/reduce_operation.h"

namespace gang {

std::string_view to_string(ReduceOperation operation) noexcept {
  switch (operation) {
    case ReduceOperation::sum:
      return "sum";
    case ReduceOperation::mean:
      return "mean";
    case ReduceOperation::product:
      return "product";
    case ReduceOperation::min:
      return "min";
    case ReduceOperation::max:
      return "max";
    case ReduceOperation::bitwise_and:
      return "band";
    case ReduceOperation::bitwise_or:
      return "bor";
    case ReduceOperation::bitwise_xor:
      return "bxor";
  }
  return "unknown";
}

std::optional<ReduceOperation> parse_reduce_operation(std::string_view text) noexcept {
  for (const ReduceOperation operation : all_reduce_operations)
    if (to_string(operation) == text) return operation;
  return std::nullopt;
}

}  // namespace gang
