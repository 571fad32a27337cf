#include "gang/nccl/real_nccl_api.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "gang/nccl/real_nccl_types.h"

namespace gang {
namespace {

// Runs a std::function that was given to a stream, and frees it.
void run_and_free(void* function) {
  const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(function));
  (*owned)();
}

// Waits a little longer every time, at most a tenth of a millisecond.
class Pause {
 public:
  void take() {
    if (++taken_ < spins) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(taken_ < 4 * spins ? 10 : 100));
  }

 private:
  static constexpr int spins = 2000;
  int taken_ = 0;
};

class RealNcclApi final : public NcclApi {
 public:
  RealNcclApi(int device_index, std::shared_ptr<Runtime> runtime)
      : index_(device_index), runtime_(std::move(runtime)) {}

  Device device() const noexcept override { return {DeviceType::cuda, index_}; }

  NcclId make_id() override;
  std::unique_ptr<NcclCommunicator> init(const NcclMembership& membership,
                                         const NcclPurpose& purpose) override;
  std::unique_ptr<NcclCommunicator> split(NcclCommunicator& parent, const NcclSplit& split,
                                          const NcclPurpose& purpose) override;
  std::unique_ptr<NcclCommunicator> shrink(NcclCommunicator& parent, std::span<const int> excluded,
                                           NcclShrink mode, const NcclPurpose& purpose) override;
  NcclStatus state(NcclCommunicator& communicator) override;
  NcclStatus await_ready(NcclCommunicator& communicator, TimePoint deadline) override;
  void revoke(std::span<NcclCommunicator* const> communicators) noexcept override;
  void destroy(std::unique_ptr<NcclCommunicator> communicator) noexcept override;
  void begin_group() override { check(libraries().ncclGroupStart()); }
  void end_group() override { check(libraries().ncclGroupEnd()); }
  void launch(NcclCommunicator& communicator, NcclStream& stream, const NcclLaunch& launch,
              const NcclPurpose& purpose) override;
  std::unique_ptr<NcclStream> make_stream(StreamPriority priority) override;
  std::unique_ptr<NcclEvent> make_event() override;
  void record(NcclEvent& event, NcclStream& stream) override;
  bool is_done(NcclEvent& event) override;
  void copy(NcclStream& stream, std::byte* to, const std::byte* from, std::size_t bytes) override;
  void call(NcclStream& stream, std::function<void()> function) override;
  std::uint64_t changes() override;
  NcclWake wait_any(std::span<NcclEvent* const> events, TimePoint deadline,
                    std::uint64_t changes_seen) override;
  void interrupt() noexcept override { ++interrupts_; }
  std::unique_ptr<NcclBuffer> allocate(NcclMemory memory, std::size_t bytes) override;

 private:
  void use_device() const { check(libraries().cudaSetDevice(index_)); }

  const int index_;
  const std::shared_ptr<Runtime> runtime_;
  std::atomic<std::uint64_t> interrupts_ = 0;
};

// -- Communicators --

NcclId RealNcclApi::make_id() {
  ncclUniqueId id;
  check(libraries().ncclGetUniqueId(&id));
  NcclId bytes{};
  static_assert(sizeof(id) == sizeof(bytes));
  std::memcpy(bytes.data(), &id, sizeof(id));
  return bytes;
}

std::unique_ptr<NcclCommunicator> RealNcclApi::init(const NcclMembership& membership,
                                                    const NcclPurpose& purpose) {
  use_device();
  auto made = std::make_unique<RealCommunicator>();
  made->name = purpose.gang->name;
  ncclUniqueId id;
  std::memcpy(&id, membership.id.data(), sizeof(id));
  ncclConfig_t config = config_of(*made);
  check(libraries().ncclCommInitRankConfig(&made->handle, membership.size, id, membership.rank,
                                           &config));
  return made;
}

std::unique_ptr<NcclCommunicator> RealNcclApi::split(NcclCommunicator& parent,
                                                     const NcclSplit& split,
                                                     const NcclPurpose& purpose) {
  use_device();
  auto made = std::make_unique<RealCommunicator>();
  made->name = purpose.gang->name;
  made->parent = own(parent).handle;
  ncclConfig_t config = config_of(*made);
  const int color = split.color == no_color ? NCCL_SPLIT_NOCOLOR : split.color;
  check(libraries().ncclCommSplit(made->parent, color, split.key, &made->handle, &config),
        made->parent);
  if (split.color != no_color) return made;
  // NCCL may still write the handle, which must exist until the parent is ready.
  while (state_of(made->parent) == NcclStatus::in_progress)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  return nullptr;
}

std::unique_ptr<NcclCommunicator> RealNcclApi::shrink(NcclCommunicator& parent,
                                                      std::span<const int> excluded,
                                                      NcclShrink mode, const NcclPurpose& purpose) {
  use_device();
  auto made = std::make_unique<RealCommunicator>();
  made->name = purpose.gang->name;
  made->parent = own(parent).handle;
  ncclConfig_t config = config_of(*made);
  std::vector<int> ranks(excluded.begin(), excluded.end());
  check(libraries().ncclCommShrink(
            made->parent, ranks.data(), static_cast<int>(ranks.size()), &made->handle, &config,
            mode == NcclShrink::abort_parent ? NCCL_SHRINK_ABORT : NCCL_SHRINK_DEFAULT),
        made->parent);
  return made;
}

NcclStatus RealNcclApi::state(NcclCommunicator& communicator) {
  RealCommunicator& here = own(communicator);
  const std::lock_guard lock(here.ending);
  if (here.is_aborted) return NcclStatus::success;
  return here.handle == nullptr ? NcclStatus::in_progress : state_of(here.handle);
}

NcclStatus RealNcclApi::await_ready(NcclCommunicator& communicator, TimePoint deadline) {
  RealCommunicator& here = own(communicator);
  Pause pause;
  while (true) {
    const NcclStatus before = here.parent != nullptr ? state_of(here.parent) : NcclStatus::success;
    if (before == NcclStatus::success) here.parent = nullptr;
    const NcclStatus status = before == NcclStatus::success ? state(communicator) : before;
    if (status != NcclStatus::in_progress || runtime_->now() >= deadline) return status;
    pause.take();
  }
}

// A communicator that is still being made can only be aborted, which frees it.
void RealNcclApi::revoke(std::span<NcclCommunicator* const> communicators) noexcept {
  libraries().cudaSetDevice(index_);
  std::vector<RealCommunicator*> unfinished;
  for (NcclCommunicator* communicator : communicators) {
    RealCommunicator& here = own(*communicator);
    if (here.handle == nullptr || here.is_aborted) continue;
    ncclResult_t state = ncclSuccess;
    libraries().ncclCommGetAsyncError(here.handle, &state);
    const ncclResult_t revoked = state == ncclInProgress
                                     ? ncclInvalidUsage
                                     : libraries().ncclCommRevoke(here.handle, NCCL_REVOKE_DEFAULT);
    if (revoked != ncclSuccess && revoked != ncclInProgress) unfinished.push_back(&here);
  }
  if (unfinished.empty()) return;
  libraries().ncclGroupStart();
  for (RealCommunicator* communicator : unfinished) {
    const std::lock_guard lock(communicator->ending);
    libraries().ncclCommAbort(communicator->handle);
    communicator->is_aborted = true;
  }
  libraries().ncclGroupEnd();
}

void RealNcclApi::destroy(std::unique_ptr<NcclCommunicator> communicator) noexcept {
  const RealCommunicator& here = own(*communicator);
  if (here.handle == nullptr || here.is_aborted) return;
  libraries().cudaSetDevice(index_);
  libraries().ncclCommDestroy(here.handle);
}

void RealNcclApi::launch(NcclCommunicator& communicator, NcclStream& stream,
                         const NcclLaunch& launch, const NcclPurpose&) {
  use_device();
  const CudaLibraries& nccl = libraries();
  if (own(communicator).is_aborted)
    throw NcclError(NcclStatus::invalid_usage, "the communicator has been aborted");
  ncclComm_t const comm = own(communicator).handle;
  cudaStream_t const on = handle_of(stream);
  const auto count = static_cast<std::size_t>(launch.count);
  const ncclDataType_t type = to_nccl(launch.data_type);
  const ncclRedOp_t operation = to_nccl(launch.reduce_operation);
  const auto& [kind, in, out] = std::tuple(launch.kind, launch.input, launch.output);
  const int peer = launch.peer;
  using enum OperationKind;
  switch (kind) {
    case all_reduce:
      return check(nccl.ncclAllReduce(in, out, count, type, operation, comm, on), comm);
    case reduce:
      return check(nccl.ncclReduce(in, out, count, type, operation, peer, comm, on), comm);
    case reduce_scatter:
      return check(nccl.ncclReduceScatter(in, out, count, type, operation, comm, on), comm);
    case all_gather:
      return check(nccl.ncclAllGather(in, out, count, type, comm, on), comm);
    case gather:
      return check(nccl.ncclGather(in, out, count, type, peer, comm, on), comm);
    case scatter:
      return check(nccl.ncclScatter(in, out, count, type, peer, comm, on), comm);
    case all_to_all:
      return check(nccl.ncclAlltoAll(in, out, count, type, comm, on), comm);
    case broadcast:
      return check(nccl.ncclBroadcast(in, out, count, type, peer, comm, on), comm);
    case send:
      return check(nccl.ncclSend(in, count, type, peer, comm, on), comm);
    case recv:
      return check(nccl.ncclRecv(out, count, type, peer, comm, on), comm);
    default:
      throw NcclError(NcclStatus::invalid_argument, "NCCL has no " + std::string(to_string(kind)));
  }
}

// -- Streams --

std::unique_ptr<NcclStream> RealNcclApi::make_stream(StreamPriority priority) {
  use_device();
  int least = 0;
  int greatest = 0;
  check(libraries().cudaDeviceGetStreamPriorityRange(&least, &greatest));
  auto stream = std::make_unique<RealStream>();
  check(libraries().cudaStreamCreateWithPriority(
      &stream->handle, cudaStreamNonBlocking, priority == StreamPriority::high ? greatest : least));
  return stream;
}

std::unique_ptr<NcclEvent> RealNcclApi::make_event() {
  use_device();
  auto event = std::make_unique<RealEvent>();
  check(libraries().cudaEventCreateWithFlags(&event->handle, cudaEventDisableTiming));
  return event;
}

void RealNcclApi::record(NcclEvent& event, NcclStream& stream) {
  use_device();
  check(libraries().cudaEventRecord(handle_of(event), handle_of(stream)));
}

bool RealNcclApi::is_done(NcclEvent& event) {
  const cudaError_t error = libraries().cudaEventQuery(handle_of(event));
  if (error == cudaErrorNotReady) return false;
  check(error);
  return true;
}

void RealNcclApi::copy(NcclStream& stream, std::byte* to, const std::byte* from,
                       std::size_t bytes) {
  use_device();
  check(libraries().cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, handle_of(stream)));
}

void RealNcclApi::call(NcclStream& stream, std::function<void()> function) {
  use_device();
  auto owned = std::make_unique<std::function<void()>>(std::move(function));
  check(libraries().cudaLaunchHostFunc(handle_of(stream), run_and_free, owned.get()));
  owned.release();
}

// Each look at communicators and notes costs a call to NCCL and one to the store.
std::uint64_t RealNcclApi::changes() {
  constexpr Duration between_looks = std::chrono::milliseconds(100);
  return interrupts_ + static_cast<std::uint64_t>(runtime_->now() / between_looks);
}

NcclWake RealNcclApi::wait_any(std::span<NcclEvent* const> events, TimePoint deadline,
                               std::uint64_t changes_seen) {
  Pause pause;
  while (true) {
    for (std::size_t i = 0; i < events.size(); ++i)
      if (is_done(*events[i])) return {NcclWake::Reason::done, i};
    if (changes() != changes_seen) return {NcclWake::Reason::look, 0};
    if (runtime_->now() >= deadline) return {NcclWake::Reason::deadline, 0};
    pause.take();
  }
}

std::unique_ptr<NcclBuffer> RealNcclApi::allocate(NcclMemory memory, std::size_t bytes) {
  use_device();
  return std::make_unique<RealBuffer>(memory, bytes);
}

}  // namespace

BackendAvailability nccl_availability() {
  static const std::string problem = load_cuda_libraries().problem;
  return {problem.empty(), problem};
}

int gpu_count() {
  int count = 0;
  const bool can_ask = nccl_availability().is_available;
  return can_ask && libraries().cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::shared_ptr<NcclApi> make_real_nccl_api(int device_index, std::shared_ptr<Runtime> runtime) {
  if (!nccl_availability().is_available) throw NotSupported("nccl: " + nccl_availability().reason);
  if (!libraries().problem.empty()) throw NotSupported("nccl: " + libraries().problem);
  if (device_index < 0 || device_index >= gpu_count())
    throw NotSupported("nccl: there is no GPU cuda:" + std::to_string(device_index) +
                       "; this process sees " + std::to_string(gpu_count()) +
                       ", and each process of a job needs one of its own");
  return std::make_shared<RealNcclApi>(device_index, std::move(runtime));
}

}  // namespace gang
