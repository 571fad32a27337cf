// send, recv and batches of them.
#include <fmt/format.h>

#include "gang/operation_checks.h"

namespace gang {
namespace {

[[gnu::always_inline]] inline void check_message(const Call& call, OperationKind kind, int peer,
                                                 int tag) {
  if (kind == OperationKind::send) {
    check_rank(call, "destination_rank", peer);
    if (tag < 0) refuse(call, fmt::format("tag is {}; must be 0 or more", tag));
    return;
  }
  if (peer != any_rank && (peer < 0 || peer >= call.gang.size()))
    throw_bad_rank(call, "source_rank", peer, ", or any_rank");
  if (tag < 0 && tag != any_tag)
    refuse(call, fmt::format("tag is {}; must be 0 or more, or any_tag", tag));
}

[[gnu::always_inline]] inline Operation describe_message(Call call, OperationKind kind,
                                                         const TensorView& tensor, int peer,
                                                         int tag) {
  begin(call, kind);
  check_message(call, kind, peer, tag);
  check_tensor(call, "tensor", tensor);
  const bool is_send = kind == OperationKind::send;
  return operation_of(call, {.sized = tensor,
                             .input = is_send ? tensor : no_tensor,
                             .output = is_send ? no_tensor : tensor,
                             .peer = peer,
                             .tag = tag});
}

void check_entry(const Call& call, const PointToPoint& entry) {
  if (entry.kind != OperationKind::send && entry.kind != OperationKind::recv)
    refuse(call, fmt::format("an entry is a {}; must be a send or a recv", to_string(entry.kind)));
  check_message(call, entry.kind, entry.peer, entry.tag);
  check_tensor(call, "tensor", entry.tensor);
}

[[gnu::always_inline]] inline Operation describe_batch(Call call, const OperationExtras& extras) {
  begin(call, OperationKind::batch);
  for (const PointToPoint& entry : extras.batch) check_entry(call, entry);
  Operation operation = operation_on(call, extras.batch.size());
  operation.extras = &extras;
  return operation;
}

}  // namespace

void Gang::send(const TensorView& tensor, int destination_rank, int tag, const CallOptions& options,
                CallSite call_site) {
  run(describe_message({*this, options, call_site}, OperationKind::send, tensor, destination_rank,
                       tag));
}

Work Gang::start_send(const TensorView& tensor, int destination_rank, int tag,
                      const CallOptions& options, CallSite call_site) {
  return start(describe_message({*this, options, call_site}, OperationKind::send, tensor,
                                destination_rank, tag),
               options.mode);
}

Received Gang::recv(const TensorView& tensor, int source_rank, int tag, const CallOptions& options,
                    CallSite call_site) {
  return run(
      describe_message({*this, options, call_site}, OperationKind::recv, tensor, source_rank, tag));
}

Work Gang::start_recv(const TensorView& tensor, int source_rank, int tag,
                      const CallOptions& options, CallSite call_site) {
  return start(
      describe_message({*this, options, call_site}, OperationKind::recv, tensor, source_rank, tag),
      options.mode);
}

void Gang::batch(std::span<const PointToPoint> operations, const CallOptions& options,
                 CallSite call_site) {
  run(describe_batch({*this, options, call_site}, {.batch = operations}));
}

Work Gang::start_batch(std::span<const PointToPoint> operations, const CallOptions& options,
                       CallSite call_site) {
  return start(describe_batch({*this, options, call_site}, {.batch = operations}), options.mode);
}

}  // namespace gang
