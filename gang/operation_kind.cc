#include "gang/operation_kind.h"

namespace gang {

std::string_view to_string(OperationKind kind) noexcept {
  static constexpr std::array<std::string_view, all_operation_kinds.size() + 1> names = {
      "all_reduce",
      "reduce",
      "reduce_scatter",
      "all_gather",
      "all_gather_to_list",
      "gather",
      "scatter",
      "all_to_all",
      "broadcast",
      "broadcast_objects",
      "barrier",
      "monitored_barrier",
      "create_gang",
      "split",
      "send",
      "recv",
      "batch",
      "shrink"};
  const auto index = static_cast<std::size_t>(kind);
  return index < names.size() ? names[index] : "unknown";
}

std::optional<OperationKind> parse_operation_kind(std::string_view text) noexcept {
  for (const OperationKind kind : all_operation_kinds)
    if (to_string(kind) == text) return kind;
  return std::nullopt;
}

}  // namespace gang
