// broadcast, broadcast_objects and the barriers.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/gang_cause.h"
#include "gang/object.h"
#include "gang/operation_checks.h"

namespace gang {
namespace {

[[gnu::always_inline]] inline Operation describe_broadcast(Call call, const TensorView& tensor,
                                                           int source_rank) {
  begin(call, OperationKind::broadcast);
  check_rank(call, "source_rank", source_rank);
  check_tensor(call, "tensor", tensor);
  return operation_of(call,
                      {.sized = tensor, .input = tensor, .output = tensor, .peer = source_rank});
}

[[gnu::always_inline]] inline Operation describe_barrier(Call call) {
  begin(call, OperationKind::barrier);
  return operation_of(call);
}

// The objects that arrived as `packed`. Their errors are the sender's or the backend's fault.
std::vector<Object> unpack_received(const Gang& gang, const Operation& operation,
                                    std::span<const std::byte> packed) {
  const Collective& call = operation.collective;
  GangCause cause{.ranks_at_fault = {call.peer}};
  try {
    std::vector<Object> received = unpack_objects(packed);
    if (static_cast<std::int64_t>(received.size()) == call.count) return received;
    cause.kind = GangErrorKind::mismatch;
    cause.reason =
        fmt::format("the source sent {} objects; expected {}", received.size(), call.count);
  } catch (const InvalidArgument& error) {
    cause.kind = GangErrorKind::corrupt;
    cause.reason = error.what();
  }
  throw error_for(gang.info(), gang.rank(), call, std::move(cause));
}

}  // namespace

void Gang::broadcast(const TensorView& tensor, int source_rank, const CallOptions& options,
                     CallSite call_site) {
  run(describe_broadcast({*this, options, call_site}, tensor, source_rank));
}

Work Gang::start_broadcast(const TensorView& tensor, int source_rank, const CallOptions& options,
                           CallSite call_site) {
  return start(describe_broadcast({*this, options, call_site}, tensor, source_rank), options.mode);
}

void Gang::broadcast_objects(ObjectSpan list, int source_rank, const CallOptions& options,
                             CallSite call_site) {
  const std::span<Object> objects = list.objects();
  Call call{*this, options, call_site};
  begin(call, OperationKind::broadcast_objects);
  check_rank(call, "source_rank", source_rank);
  Operation operation = operation_on(call, objects.size());
  operation.collective.data_type = DataType::u8;
  operation.collective.peer = source_rank;
  std::vector<std::byte> packed;
  if (rank_ == source_rank) packed = pack_objects(objects);
  const OperationExtras extras{.packed = &packed};
  operation.extras = &extras;
  run(operation);
  // Nothing has arrived where all ranks hold the same objects already, as those of a fake gang do.
  if (rank_ == source_rank || packed.empty()) return;
  std::ranges::move(unpack_received(*this, operation, packed), objects.begin());
}

void Gang::barrier(const CallOptions& options, CallSite call_site) {
  run(describe_barrier({*this, options, call_site}));
}

Work Gang::start_barrier(const CallOptions& options, CallSite call_site) {
  return start(describe_barrier({*this, options, call_site}), options.mode);
}

void Gang::monitored_barrier(Duration timeout, MissingRanks report, const CallOptions& options,
                             CallSite call_site) {
  Call call{*this, options, call_site};
  begin(call, OperationKind::monitored_barrier);
  if (timeout <= Duration::zero()) throw_timeout(call, timeout);
  Operation operation = operation_of(call);
  operation.timeout = timeout;
  const OperationExtras extras{.wait_all_ranks = report == MissingRanks::all};
  operation.extras = &extras;
  run(operation);
}

}  // namespace gang
