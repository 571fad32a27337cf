#include "gang/recording/dump_fields.h"

#include <algorithm>
#include <array>

namespace gang::dump_fields {
namespace {

struct Operation {
  std::string_view name;
  OperationKind kind;
};

// As PyTorch's backends name them. What is missing here keeps its name as a label.
constexpr std::array operations = {
    Operation{"all_reduce", OperationKind::all_reduce},
    Operation{"allreduce_coalesced", OperationKind::all_reduce},
    Operation{"all_reduce_coalesced", OperationKind::all_reduce},
    Operation{"reduce", OperationKind::reduce},
    Operation{"_reduce_oop", OperationKind::reduce},
    Operation{"reduce_scatter", OperationKind::reduce_scatter},
    Operation{"_reduce_scatter_base", OperationKind::reduce_scatter},
    Operation{"reduce_scatter_tensor_coalesced", OperationKind::reduce_scatter},
    Operation{"all_gather", OperationKind::all_gather},
    Operation{"_all_gather_base", OperationKind::all_gather},
    Operation{"all_gather_into_tensor_coalesced", OperationKind::all_gather},
    Operation{"gather", OperationKind::gather},
    Operation{"scatter", OperationKind::scatter},
    Operation{"all_to_all", OperationKind::all_to_all},
    Operation{"broadcast", OperationKind::broadcast},
    Operation{"_broadcast_oop", OperationKind::broadcast},
    Operation{"barrier", OperationKind::barrier},
    Operation{"all_reduce_barrier", OperationKind::barrier},
    Operation{"send", OperationKind::send},
    Operation{"recv", OperationKind::recv},
    Operation{"coalesced", OperationKind::batch},
};

struct Type {
  std::string_view name;
  DataType type;
};

constexpr std::array types = {
    Type{"Float", DataType::f32},    Type{"BFloat16", DataType::bf16},
    Type{"Half", DataType::f16},     Type{"Double", DataType::f64},
    Type{"Long", DataType::i64},     Type{"Int", DataType::i32},
    Type{"Byte", DataType::u8},      Type{"Char", DataType::i8},
    Type{"Bool", DataType::boolean}, Type{"UInt32", DataType::u32},
    Type{"UInt64", DataType::u64},
};

}  // namespace

std::string_view name_of_type(DataType type) noexcept {
  return std::ranges::find(types, type, &Type::type)->name;
}

std::optional<DataType> type_named(std::string_view name) noexcept {
  const auto known = std::ranges::find(types, name, &Type::name);
  return known == types.end() ? std::nullopt : std::optional(known->type);
}

std::optional<OperationKind> operation_named(std::string_view name) noexcept {
  const auto known = std::ranges::find(operations, name, &Operation::name);
  return known == operations.end() ? std::nullopt : std::optional(known->kind);
}

}  // namespace gang::dump_fields
