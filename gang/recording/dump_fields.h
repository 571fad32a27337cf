// Names in the dumps of PyTorch's Flight Recorder, both ways.
#pragma once

#include <optional>
#include <string_view>

#include "gang/data_type.h"
#include "gang/operation_kind.h"

namespace gang::dump_fields {

// "Float" and f32.
std::string_view name_of_type(DataType type) noexcept;
std::optional<DataType> type_named(std::string_view name) noexcept;

// The operation that PyTorch calls so: "_all_gather_base". batch: the end of calls made as one.
std::optional<OperationKind> operation_named(std::string_view name) noexcept;

// A call that is none: it only keeps a dump from being empty.
inline constexpr std::string_view no_operation = "none";

}  // namespace gang::dump_fields
