#include "gang/operation_kind.h"

#include "gang/enum_names.h"

namespace gang {
namespace {

constexpr auto kind_names = names_in_order<OperationKind>(
    "all_reduce", "reduce", "reduce_scatter", "all_gather", "all_gather_to_list", "gather",
    "scatter", "all_to_all", "broadcast", "broadcast_objects", "barrier", "monitored_barrier",
    "create_gang", "split", "send", "recv", "batch", "scan", "exclusive_scan", "shrink");

}  // namespace

std::string_view to_string(OperationKind kind) noexcept { return name_of(kind_names, kind); }

std::optional<OperationKind> parse_operation_kind(std::string_view text) noexcept {
  const auto kind = parse_name(kind_names, text);
  return kind == OperationKind::shrink ? std::nullopt : kind;
}

}  // namespace gang
