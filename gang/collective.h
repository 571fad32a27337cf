// One description of a call, used by matching, fingerprints, traces, reports and observers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "gang/call_site.h"
#include "gang/data_type.h"
#include "gang/operation_kind.h"
#include "gang/reduce_operation.h"
#include "gang/shape.h"

namespace gang {

// Far from every rank and tag, so that no arithmetic on those yields them: `rank - 1` on rank 0 is
// neither a rank nor any_rank.
inline constexpr int any_rank = std::numeric_limits<int>::min();  // recv: from the first that sends
inline constexpr int any_tag = std::numeric_limits<int>::min();   // recv: with any tag
inline constexpr int no_rank = -2;  // an operation without a root or peer

// What a rank asked its gang to do, without the buffers: a value that can be copied, compared and
// printed. Describes point-to-point operations too.
struct Collective {
  OperationKind kind = OperationKind::barrier;
  DataType data_type = DataType::f32;
  ReduceOperation reduce_operation = ReduceOperation::sum;  // if reduces(kind)
  bool blocking = true;                                     // false for start_ forms
  // The root (has_root), the destination of a send, the source of a receive; no_rank: not recorded.
  int peer = no_rank;
  int tag = 0;                        // point-to-point only
  std::int64_t count = 0;             // elements of `shape`; objects of broadcast_objects
  std::uint64_t sequence_number = 0;  // index among the gang's operations on this rank, from 0
  std::string_view label;             // borrowed for the call; empty if none is given
  CallSite call_site;
  // What else must match: a hash of create_gang's rank list, or of all_gather's counts.
  std::uint64_t detail = 0;

  Shape shape;  // of the tensor that fixes the size: the smaller of input and output

  friend bool operator==(const Collective&, const Collective&) = default;
};

// The fields from `kind` to `peer` in one word: kind in the lowest byte, peer in the upper half.
inline std::uint64_t head_of(const Collective& call) noexcept {
  static_assert(std::endian::native == std::endian::little);
  static_assert(offsetof(Collective, kind) == 0 && offsetof(Collective, data_type) == 1 &&
                offsetof(Collective, reduce_operation) == 2 &&
                offsetof(Collective, blocking) == 3 && offsetof(Collective, peer) == 4);
  std::uint64_t head = 0;
  std::memcpy(&head, &call, sizeof head);
  return head;
}

// "all_reduce #3 sum f32[1024]", "broadcast #0 f32[8] from rank 2", "send f32[4] to rank 1 tag 7",
// "barrier #2", "recv f32[4] from any rank"; with the label, if any, in quotes; no call site.
std::string to_string(const Collective& collective);

}  // namespace gang
