// One description of a call, used by matching, fingerprints, traces, reports and observers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gang/call_site.h"
#include "gang/data_type.h"
#include "gang/operation_kind.h"
#include "gang/reduce_operation.h"
#include "gang/shape.h"

namespace gang {

inline constexpr int any_rank = -1;  // recv: from whoever sends first
inline constexpr int any_tag = -1;   // recv: whatever the tag
inline constexpr int no_rank = -2;   // an operation without root or peer

// What a rank asked its gang to do, without the buffers: a value that copies, compares and prints.
//
// Point-to-point operations are described too: `peer` is the destination or source, `tag` the tag.
struct Collective {
  OperationKind kind = OperationKind::barrier;
  DataType data_type = DataType::f32;
  ReduceOperation reduce_operation = ReduceOperation::sum;  // where reduces(kind)
  bool blocking = true;                                     // false for start_ forms
  int peer = no_rank;  // the root (has_root), the destination of a send, the source of a receive
  int tag = 0;         // point-to-point only
  std::int64_t count = 0;             // elements of `shape`; objects of broadcast_objects
  std::uint64_t sequence_number = 0;  // the how-manieth operation of its gang on this rank
  std::string_view label;             // borrowed for the call; empty: none
  CallSite call_site;
  std::uint64_t detail = 0;  // further fingerprint: a hash of create_gang's rank list

  Shape shape;  // of the tensor that fixes the size: the smaller of input and output

  friend bool operator==(const Collective&, const Collective&) = default;
};

// "all_reduce #3 sum f32[1024]", "broadcast #0 f32[8] from rank 2", "send f32[4] to rank 1 tag 7",
// "barrier #2", "recv f32[4] from any rank"; without call site; the label in quotes where given.
std::string to_string(const Collective& collective);

}  // namespace gang
