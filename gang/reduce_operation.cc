#include "gang/reduce_operation.h"

#include "gang/enum_names.h"

namespace gang {
namespace {

constexpr auto operation_names =
    names_in_order<ReduceOperation>("sum", "mean", "product", "min", "max", "band", "bor", "bxor");

}  // namespace

std::string_view to_string(ReduceOperation operation) noexcept {
  return name_of(operation_names, operation);
}

std::optional<ReduceOperation> parse_reduce_operation(std::string_view text) noexcept {
  return parse_name(operation_names, text);
}

}  // namespace gang
