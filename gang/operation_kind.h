// The kinds of operations a gang performs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gang {

enum class OperationKind : std::uint8_t {
  all_reduce,
  reduce,
  reduce_scatter,
  all_gather,
  all_gather_to_list,
  gather,
  scatter,
  all_to_all,
  broadcast,
  broadcast_objects,
  barrier,
  monitored_barrier,
  create_gang,
  split,
  send,
  recv,
  batch,
  scan,
  exclusive_scan,
  shrink,  // describes Gang::shrink in errors; never an Operation, nor in all_operation_kinds
};

inline constexpr auto all_operation_kinds = [] {
  std::array<OperationKind, static_cast<std::size_t>(OperationKind::exclusive_scan) + 1> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = static_cast<OperationKind>(i);
  return kinds;
}();

// Sends, receives and batches of them, which match by source, destination and tag, not by sequence.
constexpr bool is_point_to_point(OperationKind kind) noexcept {
  return kind >= OperationKind::send && kind <= OperationKind::batch;
}

// Reductions of which each rank gets the part up to its own place.
constexpr bool is_scan(OperationKind kind) noexcept {
  return kind == OperationKind::scan || kind == OperationKind::exclusive_scan;
}

constexpr bool reduces(OperationKind kind) noexcept {
  return kind <= OperationKind::reduce_scatter || is_scan(kind);
}

// Whether a call is described by the type and shape of a tensor.
constexpr bool has_tensor(OperationKind kind) noexcept {
  return kind <= OperationKind::broadcast || is_scan(kind) || kind == OperationKind::send ||
         kind == OperationKind::recv;
}

// Whether the operation has a root: one rank that sends to, or receives from, all the others.
constexpr bool has_root(OperationKind kind) noexcept {
  return kind == OperationKind::reduce || kind == OperationKind::gather ||
         kind == OperationKind::scatter || kind == OperationKind::broadcast ||
         kind == OperationKind::broadcast_objects;
}

// "all_reduce", ...: the enumerator's name.
std::string_view to_string(OperationKind kind) noexcept;

// The inverse of to_string; none for any other text.
std::optional<OperationKind> parse_operation_kind(std::string_view text) noexcept;

}  // namespace gang
