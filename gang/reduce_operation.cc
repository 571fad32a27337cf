#include "gang/reduce_operation.h"

#include "gang/enum_names.h"

namespace gang {
namespace {

constexpr std::array<std::string_view, all_reduce_operations.size()> names = {
    "sum", "mean", "product", "min", "max", "band", "bor", "bxor"};

}  // namespace

std::string_view to_string(ReduceOperation operation) noexcept {
  return enum_name(names, operation);
}

std::optional<ReduceOperation> parse_reduce_operation(std::string_view text) noexcept {
  return find_enum<ReduceOperation>(names, text);
}

}  // namespace gang
