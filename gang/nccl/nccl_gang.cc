#include "gang/nccl/nccl_gang.h"

#include <array>
#include <atomic>
#include <utility>

#include "gang/child_gang.h"
#include "gang/nccl/nccl_collectives.h"
#include "gang/nccl/nccl_groups.h"
#include "gang/nccl/nccl_shrinking.h"
#include "gang/parent_gang.h"

namespace gang {
namespace {

class NcclGang final : public ParentGang {
 public:
  explicit NcclGang(const std::shared_ptr<NcclMember>& member)
      : ParentGang(member->info(), member->rank()), member_(member) {}
  ~NcclGang() override { NcclGang::do_close(); }

 protected:
  Work do_start(Operation& operation) override;
  Received do_run(Operation& operation) override;
  std::shared_ptr<Gang> do_shrink(const ShrinkOptions& options, const CallSite& call_site) override;
  void do_abort() override;
  void do_close() noexcept override { member_->close(); }

 private:
  NcclDevice& device() const noexcept { return *member_->device(); }

  void number(Operation& operation) noexcept;
  bool run_between_hosts(const Operation& operation);
  std::shared_ptr<NcclFlight> launch_and_track(const Operation& operation, bool is_blocking);
  std::shared_ptr<NcclFlight> launch(const Operation& operation);
  Received run_to_end(const Operation& operation);
  void broadcast_objects(const Operation& operation);
  void broadcast_bytes(const Operation& operation, void* bytes, std::size_t count);

  std::shared_ptr<NcclMember> member_;
  std::uint64_t next_sequence_ = 0;
  std::atomic<std::uint64_t> next_message_ = 0;  // a ValidatingGang sends on its own threads
  std::uint64_t children_made_ = 0;
  bool is_shrunk_ = false;
};

void NcclGang::number(Operation& operation) noexcept {
  operation.collective.sequence_number =
      is_point_to_point(operation.collective.kind) ? next_message_++ : next_sequence_++;
}

Work NcclGang::do_start(Operation& operation) {
  check_supported(operation, rank());
  number(operation);
  const std::shared_ptr<NcclFlight> flight = launch_and_track(operation, false);
  return Work(flight);
}

Received NcclGang::do_run(Operation& operation) {
  check_supported(operation, rank());
  number(operation);
  if (run_between_hosts(operation)) return {};
  return run_to_end(operation);
}

Received NcclGang::run_to_end(const Operation& operation) {
  const std::shared_ptr<NcclFlight> flight = launch_and_track(operation, true);
  device().await(*flight);
  flight->wait(no_timeout);
  return flight->received();
}

// Performs what a communicator cannot do, or cannot do alone; false for any other operation.
bool NcclGang::run_between_hosts(const Operation& operation) {
  const OperationKind kind = operation.collective.kind;
  const bool makes_gang = kind == OperationKind::create_gang || kind == OperationKind::split;
  if (!makes_gang && kind != OperationKind::monitored_barrier &&
      kind != OperationKind::broadcast_objects)
    return false;
  const NcclCall call = nccl_call(*member_, operation);
  member_->require_intact(call.purpose, call.began);
  if (makes_gang) {
    const auto child = make_child_member(*member_, call, operation, children_made_++);
    if (child != nullptr) *operation.extras->created = std::make_shared<NcclGang>(child);
  } else if (kind == OperationKind::monitored_barrier) {
    run_monitored_barrier(*member_, call, operation.extras->wait_all_ranks);
  } else if (size() > 1) {
    broadcast_objects(operation);
  }
  return true;
}

std::shared_ptr<NcclFlight> NcclGang::launch_and_track(const Operation& operation,
                                                       bool is_blocking) {
  const NcclDevice::Upcoming upcoming(device());
  std::shared_ptr<NcclFlight> flight = launch(operation);
  device().track(flight, is_blocking);
  return flight;
}

std::shared_ptr<NcclFlight> NcclGang::launch(const Operation& operation) {
  auto flight = std::make_shared<NcclFlight>(member_->device(), member_, operation);
  member_->require_intact(flight->purpose(), flight->began());
  const Collective& call = operation.collective;
  if (auto mismatch = own_split_mismatch(operation, rank()))
    member_->fail(flight->purpose(), flight->began(), *std::move(mismatch));
  if (call.kind == OperationKind::recv) flight->set_received({call.peer, call.tag});
  try {
    NcclCollectives(*member_, *flight).launch(operation);
    device().api().record(flight->event(), member_->stream());
  } catch (const NcclError& error) {
    if (error.status() == NcclStatus::invalid_argument)
      throw InvalidArgument(to_string(call) + " on " + label_of(info()) + ": " + error.what());
    flight->leave_memory();
    member_->fail(flight->purpose(), flight->began(),
                  {.kind = error.status() == NcclStatus::remote_error ? GangErrorKind::peer_failed
                                                                      : GangErrorKind::connection,
                   .reason = error.what()});
  }
  return flight;
}

void NcclGang::broadcast_bytes(const Operation& operation, void* bytes, std::size_t count) {
  Operation broadcast = operation;
  const TensorView tensor(bytes, DataType::u8, Shape::vector(static_cast<std::int64_t>(count)));
  broadcast.collective.kind = OperationKind::broadcast_objects;
  broadcast.input = tensor;
  broadcast.output = tensor;
  run_to_end(broadcast);
}

// A header goes first: the number of bytes, and of objects.
void NcclGang::broadcast_objects(const Operation& operation) {
  const Collective& call = operation.collective;
  std::vector<std::byte>& packed = *operation.extras->packed;
  std::array<std::int64_t, 2> header = {static_cast<std::int64_t>(packed.size()), call.count};
  broadcast_bytes(operation, header.data(), sizeof(header));
  packed.resize(static_cast<std::size_t>(header[0]));
  broadcast_bytes(operation, packed.data(), packed.size());
  if (header[1] == call.count) return;
  const NcclCall here = nccl_call(*member_, operation);
  member_->fail(here.purpose, here.began, object_count_mismatch(call, rank(), header[1]));
}

std::shared_ptr<Gang> NcclGang::do_shrink(const ShrinkOptions& options, const CallSite& call_site) {
  if (std::exchange(is_shrunk_, true))
    throw InvalidOperation("shrink on " + label_of(info()) +
                           ": the gang has already been shrunk; shrink the new gang");
  return std::make_shared<NcclGang>(
      make_shrunk_member(*member_, options, call_site, children_made_++));
}

void NcclGang::do_abort() { member_->break_with(aborted_by(rank(), "aborted the gang")); }

}  // namespace

std::shared_ptr<Gang> make_nccl_gang(const NcclGangOptions& options) {
  auto info = root_info(options.name, "nccl", options.size, options.timeout);
  if (options.tensors == NcclTensors::on_device) info->device = options.world.api->device();
  return std::make_shared<NcclGang>(make_root_member({.info = std::move(info),
                                                      .rank = options.rank,
                                                      .key = options.key,
                                                      .tensors = options.tensors,
                                                      .priority = options.priority},
                                                     std::make_shared<NcclDevice>(options.world)));
}

}  // namespace gang
