// send, recv and batches of them.
#include "gang/operation_checks.h"

namespace gang {
namespace {

void check_send(const Call& call, int destination_rank, int tag) {
  check_rank(call, "destination_rank", destination_rank);
  if (tag < 0) throw_bad_tag(call, tag, "");
}

void check_recv(const Call& call, int source_rank, int tag) {
  if (source_rank != any_rank && (source_rank < 0 || source_rank >= call.gang.size()))
    throw_bad_rank(call, "source_rank", source_rank, " and any_rank");
  if (tag < 0 && tag != any_tag) throw_bad_tag(call, tag, " and any_tag");
}

Operation describe_send(const Call& call, const TensorView& tensor, int destination_rank, int tag) {
  Operation operation;
  begin_operation(call, operation);
  check_send(call, destination_rank, tag);
  check_tensor(call, "tensor", tensor);
  describe_size(operation, tensor);
  operation.collective.peer = destination_rank;
  operation.collective.tag = tag;
  operation.input = tensor;
  return operation;
}

Operation describe_recv(const Call& call, const TensorView& tensor, int source_rank, int tag) {
  Operation operation;
  begin_operation(call, operation);
  check_recv(call, source_rank, tag);
  check_tensor(call, "tensor", tensor);
  describe_size(operation, tensor);
  operation.collective.peer = source_rank;
  operation.collective.tag = tag;
  operation.output = tensor;
  return operation;
}

void check_entry(const Call& call, const PointToPoint& entry) {
  if (entry.kind == OperationKind::send) {
    check_send(call, entry.peer, entry.tag);
  } else if (entry.kind == OperationKind::recv) {
    check_recv(call, entry.peer, entry.tag);
  } else {
    throw Refused<InvalidArgument>(text_of(call) + ": an entry is a " +
                                       std::string(to_string(entry.kind)) +
                                       "; accepted are send and recv",
                                   call.call_site);
  }
  check_tensor(call, "tensor", entry.tensor);
}

Operation describe_batch(const Call& call, std::span<const PointToPoint> entries) {
  Operation operation;
  begin_operation(call, operation);
  for (const PointToPoint& entry : entries) check_entry(call, entry);
  operation.collective.count = static_cast<std::int64_t>(entries.size());
  operation.collective.shape = Shape::vector(operation.collective.count);
  operation.batch = entries;
  return operation;
}

}  // namespace

void Gang::send(const TensorView& tensor, int destination_rank, int tag, const CallOptions& options,
                CallSite call_site) {
  const Call call{*this, OperationKind::send, CallForm::blocking, options, call_site};
  Operation described = describe_send(call, tensor, destination_rank, tag);
  do_run(described);
}

Work Gang::start_send(const TensorView& tensor, int destination_rank, int tag,
                      const CallOptions& options, CallSite call_site) {
  const Call call{*this, OperationKind::send, CallForm::started, options, call_site};
  Operation described = describe_send(call, tensor, destination_rank, tag);
  return do_start(described);
}

Received Gang::recv(const TensorView& tensor, int source_rank, int tag, const CallOptions& options,
                    CallSite call_site) {
  const Call call{*this, OperationKind::recv, CallForm::blocking, options, call_site};
  Operation described = describe_recv(call, tensor, source_rank, tag);
  return do_run(described);
}

Work Gang::start_recv(const TensorView& tensor, int source_rank, int tag,
                      const CallOptions& options, CallSite call_site) {
  const Call call{*this, OperationKind::recv, CallForm::started, options, call_site};
  Operation described = describe_recv(call, tensor, source_rank, tag);
  return do_start(described);
}

void Gang::batch(std::span<const PointToPoint> operations, const CallOptions& options,
                 CallSite call_site) {
  const Call call{*this, OperationKind::batch, CallForm::blocking, options, call_site};
  Operation described = describe_batch(call, operations);
  do_run(described);
}

Work Gang::start_batch(std::span<const PointToPoint> operations, const CallOptions& options,
                       CallSite call_site) {
  const Call call{*this, OperationKind::batch, CallForm::started, options, call_site};
  Operation described = describe_batch(call, operations);
  return do_start(described);
}

}  // namespace gang
