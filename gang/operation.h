// What a Gang hands to its backend: the description of a call and its buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gang/collective.h"
#include "gang/duration.h"
#include "gang/tensor_view.h"

namespace gang {

class Gang;

// One send or receive of a batch.
struct PointToPoint {
  OperationKind kind = OperationKind::send;  // send or recv
  TensorView tensor;
  int peer = no_rank;  // destination of a send; source of a receive, or any_rank
  int tag = 0;         // any_tag is allowed on a receive
};

// How a start_ method makes its call; the methods without start_ always block.
enum class CallMode : std::uint8_t {
  started,   // returns at once
  blocking,  // makes the blocking call, and returns the Work of an operation that is complete
};

// Options of one call.
struct CallOptions {
  std::string_view label;  // "step 3 gradients"; two members that give one must give the same
  std::optional<Duration> timeout;      // replaces the gang's
  std::span<const TensorView> guarded;  // other memory that must not change until completion
  CallMode mode = CallMode::started;    // of start_ methods, for callers that decide at run time
};

// Of a call that is given none.
inline constexpr CallOptions no_options;

// Options of a new gang; options that are not given are inherited from the parent.
struct GangOptions {
  std::string name;  // "dp"; default: the parent's name with an index
  std::optional<Duration> timeout;
  std::string_view label;  // of the call that makes it, as CallOptions::label
};

// Options of a shrunk gang; options that are not given are inherited.
struct ShrinkOptions {
  std::string name;                 // default: the gang's name with an index
  std::optional<Duration> timeout;  // of the shrunk gang
  // How long to wait for members that are neither there nor known to be gone; the first member to
  // call decides. Default: the gang's timeout.
  std::optional<Duration> grace;
};

// split: a rank that joins no child.
inline constexpr int no_color = -1;

// What only some kinds of operations have. Borrows what it refers to, as an Operation does.
struct OperationExtras {
  // Lists: gather's outputs and scatter's inputs on the root, all_gather_to_list's outputs.
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;

  // all_to_all with explicit splits: elements to and from each rank. Both empty if splits are even.
  // all_gather with counts: output_splits are the counts; each rank gets the whole input.
  std::span<const std::int64_t> input_splits;
  std::span<const std::int64_t> output_splits;

  std::span<const PointToPoint> batch;  // OperationKind::batch
  // broadcast_objects: bytes, in on the source, out elsewhere. A backend that leaves them empty
  // there says that all ranks hold the same objects already.
  std::vector<std::byte>* packed = nullptr;
  bool wait_all_ranks = false;  // monitored_barrier: name all missing ranks, not only the first

  std::span<const int> ranks;                 // create_gang
  int color = no_color;                       // split
  int key = 0;                                // split
  const GangOptions* gang_options = nullptr;  // create_gang, split
  std::shared_ptr<Gang>* created = nullptr;   // create_gang, split: the result; null if not in it
};

// Of an operation whose kind has none.
inline const OperationExtras no_extras;

// A call, checked and complete, on its way to a backend. Lives on the caller's stack.
//
// Lifetime: everything here is borrowed for the duration of do_start. A backend that continues
// after do_start has returned copies the extras and what they refer to (not the tensors' memory,
// which belongs to the operation until it completes): OwnedOperation does.
struct Operation {
  Collective collective;
  Duration timeout = default_timeout;

  // One tensor in, one out; equal if the operation is in place. Without memory if the rank
  // contributes or receives nothing (such as reduce's output off the root).
  Elements input;
  Elements output;

  const OperationExtras* extras = &no_extras;  // never null
  std::span<const TensorView> guarded;         // CallOptions::guarded
};

// A send or a receive that is not part of a batch, as the entry of one.
inline PointToPoint message_of(const Operation& operation) {
  const Collective& call = operation.collective;
  const Elements& moved = call.kind == OperationKind::send ? operation.input : operation.output;
  return {call.kind, TensorView(moved.data(), moved.type(), call.shape), call.peer, call.tag};
}

}  // namespace gang
