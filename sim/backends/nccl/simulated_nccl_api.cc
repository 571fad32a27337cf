#include "sim/backends/nccl/simulated_nccl_api.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/backends/nccl/simulated_nccl.h"
#include "sim/schedule/guide.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

class HostMemory final : public NcclBuffer {
 public:
  HostMemory(NcclMemory memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}
  NcclMemory memory() const noexcept override { return memory_; }
  std::byte* data() const noexcept override { return const_cast<std::byte*>(bytes_.data()); }
  std::size_t size_bytes() const noexcept override { return bytes_.size(); }

 private:
  NcclMemory memory_;
  std::vector<std::byte> bytes_;
};

SimulatedCommunicator& own(NcclCommunicator& communicator) {
  return static_cast<SimulatedCommunicator&>(communicator);
}

[[noreturn]] void refuse(NcclStatus status, const std::string& why) {
  throw NcclError(status, fmt::format("NCCL: {} ({})", why, to_string(status)));
}

}  // namespace

SimulatedNcclApi::SimulatedNcclApi(SimulatedNccl& nccl, NcclGpu& gpu) : nccl_(nccl), gpu_(gpu) {}

Engine& SimulatedNcclApi::engine() const noexcept { return nccl_.world().engine; }

// -- Communicators --

NcclId SimulatedNcclApi::make_id() {
  const Engine::Guard guard(engine());
  return nccl_.next_id();
}

std::unique_ptr<NcclCommunicator> SimulatedNcclApi::init(const NcclMembership& membership,
                                                         const NcclPurpose& purpose) {
  const Engine::Guard guard(engine());
  std::uint64_t id = 0;
  std::memcpy(&id, membership.id.data(), sizeof(id));
  if (purpose.gang->root_ranks.size() != static_cast<std::size_t>(membership.size))
    refuse(NcclStatus::invalid_argument, "the communicator and its gang differ in size");
  auto made = std::make_unique<SimulatedCommunicator>();
  made->joining = {.assembly = nccl_.assembly(fmt::format("id {}", id), purpose.gang->root_ranks),
                   .place = membership.rank,
                   .split = {0, membership.rank},
                   .purpose = purpose,
                   .what = "ncclCommInitRank"};
  return made;
}

std::unique_ptr<NcclCommunicator> SimulatedNcclApi::split(NcclCommunicator& parent,
                                                          const NcclSplit& split,
                                                          const NcclPurpose& purpose) {
  const Engine::Guard guard(engine());
  SimulatedCommunicator& from = own(parent);
  if (from.clique == nullptr)
    refuse(NcclStatus::invalid_usage, "the communicator to split is not ready");
  NcclClique& clique = *from.clique;
  const std::uint64_t round = clique.assemblies[static_cast<std::size_t>(from.member)]++;
  SimulatedCommunicator::Joining joining{
      .assembly = nccl_.assembly(fmt::format("{} {}", clique.name(), round), clique.root_ranks()),
      .place = from.member,
      .split = split,
      .purpose = purpose,
      .what = "ncclCommSplit"};
  if (split.color == no_color) {
    from.joining = std::move(joining);
    return nullptr;
  }
  auto made = std::make_unique<SimulatedCommunicator>();
  made->joining = std::move(joining);
  return made;
}

std::unique_ptr<NcclCommunicator> SimulatedNcclApi::shrink(NcclCommunicator& parent,
                                                           std::span<const int> excluded,
                                                           NcclShrink mode,
                                                           const NcclPurpose& purpose) {
  NcclCommunicator* const parents[] = {&parent};
  if (mode == NcclShrink::abort_parent) revoke(parents);
  const Engine::Guard guard(engine());
  SimulatedCommunicator& from = own(parent);
  if (from.clique == nullptr) refuse(NcclStatus::invalid_usage, "the parent is not ready");
  std::vector<int> survivors;
  int place = 0;
  for (int member = 0; member < from.clique->size(); ++member) {
    if (std::ranges::binary_search(excluded, member)) continue;
    if (member < from.member) ++place;
    survivors.push_back(from.clique->root_rank_of(member));
  }
  const std::uint64_t round = from.clique->assemblies[static_cast<std::size_t>(from.member)]++;
  const std::string name =
      fmt::format("{} {} without {}", from.clique->name(), round, fmt::join(excluded, ","));
  auto made = std::make_unique<SimulatedCommunicator>();
  made->joining = {.assembly = nccl_.assembly(name, std::move(survivors)),
                   .place = place,
                   .split = {0, place},
                   .purpose = purpose,
                   .what = "ncclCommShrink"};
  return made;
}

NcclStatus SimulatedNcclApi::state(NcclCommunicator& communicator) {
  const Engine::Guard guard(engine());
  const SimulatedCommunicator& here = own(communicator);
  if (here.joining) return NcclStatus::in_progress;
  const bool tells = gpu_.model().links == PeerLinks::sockets;
  return tells && here.clique->has_lost_member() ? NcclStatus::remote_error : NcclStatus::success;
}

// Returns whether the rank has joined its assembly and the assembly is complete. Joining first
// allocates memory for the new communicator, which waits until the device is idle.
bool SimulatedNcclApi::advance(SimulatedCommunicator& communicator) {
  SimulatedCommunicator::Joining& joining = *communicator.joining;
  if (!joining.has_joined && gpu_.is_idle()) {
    joining.has_joined = true;
    if (Guide* guide = engine().choices().guide()) guide->publish(joining.assembly->key());
    joining.assembly->join(joining.place, joining.split);
    if (joining.assembly->is_complete())
      for (const int rank : joining.assembly->root_ranks()) nccl_.gpu_of(rank).wake_waiters();
  }
  if (!joining.assembly->is_complete()) return false;
  if (Guide* guide = engine().choices().guide()) guide->join(joining.assembly->key());
  if (communicator.clique == nullptr) {
    const NcclAssembly::Seat seat = joining.assembly->seat_of(joining.place);
    communicator.clique = seat.clique;
    if (seat.clique != nullptr) nccl_.note_member(seat.clique);
    communicator.member = seat.member;
  }
  communicator.joining.reset();
  return true;
}

// Lets the device start what is ready, before the host blocks; whether it did.
bool SimulatedNcclApi::start_ready() {
  if (gpu_.model().order == LaunchOrder::host || engine().is_over()) return false;
  if (Guide* guide = engine().choices().guide())
    note_try_to_start(*guide, engine().current(), gpu_);
  if (gpu_.ready().empty()) return false;
  if (gpu_.settle()) engine().scheduling_point();
  return true;
}

NcclStatus SimulatedNcclApi::await_ready(NcclCommunicator& communicator, TimePoint deadline) {
  {
    const Engine::Guard guard(engine());
    SimulatedCommunicator& here = own(communicator);
    if (here.joining) {
      engine().scheduling_point();
      if (gpu_.model().order == LaunchOrder::host) gpu_.settle();
      while (!advance(here)) {
        engine().check_running();
        if (start_ready()) continue;
        if (engine().clock().has_passed(deadline)) return NcclStatus::in_progress;
        NcclHostWait awaited;
        awaited.reason =
            here.joining->has_joined ? NcclHostWait::Reason::assembly : NcclHostWait::Reason::idle;
        awaited.nccl = &nccl_;
        awaited.gpu = &gpu_;
        awaited.assembly = here.joining->assembly.get();
        awaited.purpose = &here.joining->purpose;
        awaited.what = here.joining->what;
        block_on_device(awaited, deadline);
      }
    }
  }
  return state(communicator);
}

void SimulatedNcclApi::block_on_device(NcclHostWait& awaited, TimePoint deadline) {
  const Wait wait{.reason = Wait::Reason::message, .target = &awaited, .deadline = deadline};
  Task& self = engine().current();
  gpu_.add_waiter(self);
  engine().clock().note_deadline(deadline);
  engine().block(self, wait);
}

void SimulatedNcclApi::revoke(std::span<NcclCommunicator* const> communicators) noexcept {
  const Engine::Guard guard(engine());
  for (NcclCommunicator* communicator : communicators) {
    SimulatedCommunicator& here = own(*communicator);
    if (std::exchange(here.is_revoked, true) || here.clique == nullptr) continue;
    gpu_.end_kernels(*here.clique);
    nccl_.lose_member(*here.clique);
  }
}

void SimulatedNcclApi::destroy(std::unique_ptr<NcclCommunicator> communicator) noexcept {
  const Engine::Guard guard(engine());
  SimulatedCommunicator& here = own(*communicator);
  while (!gpu_.is_idle() && !engine().is_over()) {
    NcclHostWait awaited;
    awaited.reason = NcclHostWait::Reason::idle;
    awaited.nccl = &nccl_;
    awaited.gpu = &gpu_;
    awaited.what = "ncclCommDestroy";
    const Wait wait{.reason = Wait::Reason::message, .target = &awaited};
    Task& self = engine().current();
    gpu_.add_waiter(self);
    engine().block_quietly(self, wait);
  }
  if (here.clique != nullptr && !here.is_revoked) nccl_.lose_member(*here.clique);
}

// -- Launches --

// The caller holds a lock of its gang that others wait for to launch. Explorations have given them
// the choice before that, and are not told of such locks.
void SimulatedNcclApi::let_others_go_first() {
  if (!engine().choices().looks_at_once()) engine().scheduling_point();
}

void SimulatedNcclApi::check_launcher() {
  if (launcher_ != nullptr && launcher_ != &engine().current())
    refuse(NcclStatus::invalid_usage, "two threads launch concurrently on one device");
}

void SimulatedNcclApi::begin_group() {
  const Engine::Guard guard(engine());
  let_others_go_first();
  check_launcher();
  if (launcher_ != nullptr) refuse(NcclStatus::invalid_usage, "a group is already open");
  launcher_ = &engine().current();
}

void SimulatedNcclApi::end_group() {
  const Engine::Guard guard(engine());
  let_others_go_first();
  check_launcher();
  if (launcher_ == nullptr) refuse(NcclStatus::invalid_usage, "no group is open");
  launcher_ = nullptr;
  std::vector<Collected> group = std::exchange(group_, {});
  for (const Collected& one : group)
    if (one.communicator->is_revoked)
      refuse(NcclStatus::invalid_usage, "the communicator of a group has been revoked");
  for (const Collected& one : group) start(*one.stream, one.kernel);
}

// If launches block, those of a group block one after the other. Source: NVIDIA/nccl#750.
void SimulatedNcclApi::start(GpuStream& stream, const std::shared_ptr<NcclKernel>& kernel) {
  gpu_.launch(stream, kernel);
  if (gpu_.model().launch == HostLaunch::asynchronous) return;
  // Others of the rank wait for the right to launch meanwhile, which no Guide is told of.
  if (engine().current().rank->has_threads)
    engine().choices().note_choice_point(Unguided::threads_on_gang);
  if (gpu_.settle()) engine().scheduling_point();
  while (kernel->state != NcclKernel::State::done) {
    if (start_ready()) continue;
    NcclHostWait awaited;
    awaited.reason = NcclHostWait::Reason::launch;
    awaited.nccl = &nccl_;
    awaited.gpu = &gpu_;
    awaited.launched = kernel.get();
    awaited.purpose = &kernel->purpose;
    block_on_device(awaited, TimePoint::max());
  }
}

void SimulatedNcclApi::launch(NcclCommunicator& communicator, NcclStream& stream,
                              const NcclLaunch& launch, const NcclPurpose& purpose) {
  const Engine::Guard guard(engine());
  let_others_go_first();
  nccl_.strikes().at_step();
  engine().check_running();
  check_launcher();
  SimulatedCommunicator& here = own(communicator);
  auto& queue = static_cast<GpuStream&>(stream);
  if (here.clique == nullptr || here.joining)
    refuse(NcclStatus::invalid_usage, "the communicator is not ready");
  if (here.is_revoked) refuse(NcclStatus::invalid_usage, "the communicator has been revoked");
  if (launch.data_type == DataType::boolean)
    refuse(NcclStatus::invalid_argument, "bool is not a supported data type");
  if (reduces(launch.kind) && launch.reduce_operation >= ReduceOperation::bitwise_and)
    refuse(NcclStatus::invalid_argument, "bitwise reductions are not supported");
  if (launch.peer != no_rank && (launch.peer < 0 || launch.peer >= here.clique->size()))
    refuse(NcclStatus::invalid_argument, fmt::format("rank {} does not exist", launch.peer));
  if (launch.count == 0) return;  // dropped without notifying the others
  const bool is_message = launch.kind == OperationKind::send || launch.kind == OperationKind::recv;
  const auto joined = std::ranges::find_if(group_, [&](const Collected& one) {
    return is_message && one.communicator == &here && one.stream == &queue &&
           !one.kernel->is_collective();
  });
  if (joined != group_.end()) {
    joined->kernel->operations.push_back(launch);
    return;
  }
  auto kernel = std::make_shared<NcclKernel>();
  kernel->clique = here.clique;
  kernel->member = here.member;
  kernel->purpose = purpose;
  kernel->operations = {launch};
  if (launcher_ != nullptr)
    group_.push_back({&here, &queue, std::move(kernel)});
  else
    start(queue, kernel);
}

// -- Streams --

std::unique_ptr<NcclStream> SimulatedNcclApi::make_stream(StreamPriority) {
  const Engine::Guard guard(engine());
  return std::make_unique<GpuStream>(gpu_);
}

std::unique_ptr<NcclEvent> SimulatedNcclApi::make_event() { return std::make_unique<GpuEvent>(); }

void SimulatedNcclApi::record(NcclEvent& event, NcclStream& stream) {
  const Engine::Guard guard(engine());
  gpu_.record(static_cast<GpuStream&>(stream), static_cast<GpuEvent&>(event));
}

bool SimulatedNcclApi::is_done(NcclEvent& event) {
  const Engine::Guard guard(engine());
  const auto& looked_at = static_cast<const GpuEvent&>(event);
  nccl_.look(gpu_, looked_at.call_site);
  if (Guide* guide = engine().choices().guide(); guide && !looked_at.is_pending)
    guide->join(looked_at.after);
  return !looked_at.is_pending;
}

void SimulatedNcclApi::copy(NcclStream& stream, std::byte* to, const std::byte* from,
                            std::size_t bytes) {
  const Engine::Guard guard(engine());
  gpu_.act(static_cast<GpuStream&>(stream), [to, from, bytes] { std::memmove(to, from, bytes); });
}

void SimulatedNcclApi::call(NcclStream& stream, std::function<void()> function) {
  const Engine::Guard guard(engine());
  gpu_.act(static_cast<GpuStream&>(stream), std::move(function));
}

std::uint64_t SimulatedNcclApi::changes() {
  const Engine::Guard guard(engine());
  return gpu_.changes();
}

NcclWake SimulatedNcclApi::wait_any(std::span<NcclEvent* const> events, TimePoint deadline,
                                    std::uint64_t changes_seen) {
  const Engine::Guard guard(engine());
  require_running(engine(), "a work");
  engine().scheduling_point();
  engine().check_running();
  if (gpu_.model().order == LaunchOrder::host) gpu_.settle();
  const Task& self = engine().current();
  const bool is_of_gangs = self.further && self.further->is_of_gangs;
  if (events.size() > 1 && !is_of_gangs) nccl_.note_choice_point();
  NcclHostWait awaited;
  awaited.nccl = &nccl_;
  awaited.gpu = &gpu_;
  for (const NcclEvent* event : events)
    awaited.events.push_back(static_cast<const GpuEvent*>(event));
  while (true) {
    nccl_.strikes().at_step();
    const auto done = std::ranges::find(awaited.events, false, &GpuEvent::is_pending);
    if (done != awaited.events.end()) {
      if (Guide* guide = engine().choices().guide()) guide->join((*done)->after);
      return {NcclWake::Reason::done, static_cast<std::size_t>(done - awaited.events.begin())};
    }
    if (gpu_.changes() != changes_seen) return {NcclWake::Reason::look, 0};
    if (engine().clock().has_passed(deadline)) return {NcclWake::Reason::deadline, 0};
    if (start_ready()) continue;
    block_on_device(awaited, deadline);
  }
}

void SimulatedNcclApi::interrupt() noexcept {
  const Engine::Guard guard(engine());
  gpu_.note_change();
}

std::unique_ptr<NcclBuffer> SimulatedNcclApi::allocate(NcclMemory memory, std::size_t bytes) {
  return std::make_unique<HostMemory>(memory, bytes);
}

}  // namespace gang::sim
