// broadcast, broadcast_objects and the barriers.
#include <algorithm>
#include <exception>
#include <utility>

#include <nlohmann/json.hpp>

#include "gang/operation_checks.h"

namespace gang {
namespace {

Operation describe_broadcast(const Call& call, const TensorView& tensor, int source_rank) {
  Operation operation;
  begin_operation(call, operation);
  check_rank(call, "source_rank", source_rank);
  check_tensor(call, "tensor", tensor);
  describe_size(operation, tensor);
  operation.collective.peer = source_rank;
  operation.input = tensor;
  operation.output = tensor;
  return operation;
}

Operation describe_barrier(const Call& call) {
  Operation operation;
  begin_operation(call, operation);
  return operation;
}

Operation describe_broadcast_objects(const Call& call, std::span<const Object> objects,
                                     int source_rank) {
  Operation operation;
  begin_operation(call, operation);
  check_rank(call, "source_rank", source_rank);
  operation.collective.data_type = DataType::u8;
  operation.collective.count = static_cast<std::int64_t>(objects.size());
  operation.collective.shape = Shape::vector(operation.collective.count);
  operation.collective.peer = source_rank;
  return operation;
}

// The objects that came as `packed`. What is wrong with them is the sender's or the backend's
// doing.
std::vector<Object> unpack_received(const Gang& gang, const Operation& operation,
                                    std::span<const std::byte> packed) {
  GangFailure failure;
  failure.gang = label_of(gang.info());
  failure.rank = gang.rank();
  failure.operation = operation.collective;
  failure.ranks_at_fault = {operation.collective.peer};
  try {
    std::vector<Object> received = unpack_objects(packed);
    if (static_cast<std::int64_t>(received.size()) == operation.collective.count) return received;
    failure.kind = GangErrorKind::mismatch;
    failure.reason = "the source sent " + std::to_string(received.size()) +
                     " objects; expected were " + std::to_string(operation.collective.count);
  } catch (const InvalidArgument& error) {
    failure.kind = GangErrorKind::corrupt;
    failure.reason = error.what();
  }
  throw GangError(std::move(failure));
}

}  // namespace

void Gang::broadcast(const TensorView& tensor, int source_rank, const CallOptions& options,
                     CallSite call_site) {
  const Call call{*this, OperationKind::broadcast, CallForm::blocking, options, call_site};
  Operation described = describe_broadcast(call, tensor, source_rank);
  do_run(described);
}

Work Gang::start_broadcast(const TensorView& tensor, int source_rank, const CallOptions& options,
                           CallSite call_site) {
  const Call call{*this, OperationKind::broadcast, CallForm::started, options, call_site};
  Operation described = describe_broadcast(call, tensor, source_rank);
  return do_start(described);
}

void Gang::broadcast_objects(std::span<Object> objects, int source_rank, const CallOptions& options,
                             CallSite call_site) {
  const Call call{*this, OperationKind::broadcast_objects, CallForm::blocking, options, call_site};
  Operation described = describe_broadcast_objects(call, objects, source_rank);
  std::vector<std::byte> packed;
  if (rank_ == source_rank) packed = pack_objects(objects);
  described.packed = &packed;
  do_run(described);
  // Nothing has come where everyone holds the same already, as a fake gang's ranks do.
  if (rank_ == source_rank || packed.empty()) return;
  std::ranges::move(unpack_received(*this, described, packed), objects.begin());
}

void Gang::barrier(const CallOptions& options, CallSite call_site) {
  const Call call{*this, OperationKind::barrier, CallForm::blocking, options, call_site};
  Operation described = describe_barrier(call);
  do_run(described);
}

Work Gang::start_barrier(const CallOptions& options, CallSite call_site) {
  const Call call{*this, OperationKind::barrier, CallForm::started, options, call_site};
  Operation described = describe_barrier(call);
  return do_start(described);
}

void Gang::monitored_barrier(Duration timeout, MissingRanks report, const CallOptions& options,
                             CallSite call_site) {
  const Call call{*this, OperationKind::monitored_barrier, CallForm::blocking, options, call_site};
  Operation described = describe_barrier(call);
  if (timeout <= Duration::zero()) throw_timeout(call, timeout);
  described.timeout = timeout;
  described.wait_all_ranks = report == MissingRanks::all;
  do_run(described);
}

}  // namespace gang
