// NCCL and the part of CUDA that gangs need, as one rank sees them: real, or simulated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gang/collective.h"
#include "gang/device.h"
#include "gang/duration.h"
#include "gang/error.h"
#include "gang/gang.h"
#include "gang/root_gang.h"

namespace gang {

// What NCCL says of a call or of a communicator. Source: ncclResult_t of nccl.h, 2.28.
enum class NcclStatus : std::uint8_t {
  success,
  cuda_error,
  system_error,
  internal_error,
  invalid_argument,  // of this call only; any other error ends the communicator
  invalid_usage,
  remote_error,  // a peer is gone, as far as the network tells
  in_progress,   // a communicator that does not block: not yet
};

std::string_view to_string(NcclStatus status) noexcept;  // "remote error", ...

// A call that failed, or a communicator that did.
class NcclError : public Error {
 public:
  NcclError(NcclStatus status, const std::string& text) : Error(text), status_(status) {}
  NcclStatus status() const noexcept { return status_; }

 private:
  NcclStatus status_;
};

// What the members of a communicator find each other by.
using NcclId = std::array<std::byte, 128>;

// Things of an NcclApi, which outlives them. What a destructor frees has been let go of before.
class NcclCommunicator {
 public:
  virtual ~NcclCommunicator() = default;
};
class NcclStream {
 public:
  virtual ~NcclStream() = default;
};
class NcclEvent {
 public:
  virtual ~NcclEvent() = default;
};

enum class NcclMemory : std::uint8_t { device, pinned };

class NcclBuffer {
 public:
  virtual ~NcclBuffer() = default;
  virtual NcclMemory memory() const noexcept = 0;
  virtual std::byte* data() const noexcept = 0;
  virtual std::size_t size_bytes() const noexcept = 0;
};

// The program's call that something is done for: reports name it.
struct NcclPurpose {
  std::shared_ptr<const GangInfo> gang;
  Collective call;  // without its label
};

struct NcclMembership {
  NcclId id;
  int rank = 0;
  int size = 1;
};

// split: a member that joins none of the new communicators has no_color.
struct NcclSplit {
  int color = no_color;
  int key = 0;
};

enum class NcclShrink : std::uint8_t {
  ordinary,
  abort_parent,  // first ends what the parent has under way
};

// One operation of a communicator, as NCCL counts: `count` is of one rank's part, where input and
// output differ in size. Source: the collectives of nccl.h, 2.28.
struct NcclLaunch {
  // all_reduce, reduce, reduce_scatter, all_gather, gather, scatter, all_to_all, broadcast, send,
  // recv.
  OperationKind kind = OperationKind::all_reduce;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::int64_t count = 0;
  DataType data_type = DataType::f32;                       // but boolean
  ReduceOperation reduce_operation = ReduceOperation::sum;  // but the bitwise ones
  int peer = no_rank;  // the root, the destination or the source
};

// How a wait came to its end.
struct NcclWake {
  enum class Reason : std::uint8_t {
    done,      // the event at `index` is complete
    deadline,  // none is, and the time has come
    look,      // none is, and changes() counts more than before
  };
  Reason reason = Reason::done;
  std::size_t index = 0;
};

// One device of one rank. Communicators do not block: what takes time leaves them in_progress.
// Every method throws NcclError where NCCL or CUDA fail; what is started goes on while they return.
//
// Threads: launches, groups and what makes or ends communicators by one thread of the rank at a
// time, whatever the communicator (NCCL's own rule, which callers keep); everything else by any.
class NcclApi {
 public:
  virtual ~NcclApi() = default;

  virtual Device device() const noexcept = 0;

  // -- Communicators ------------------------------------------------------------------------------

  virtual NcclId make_id() = 0;

  // All members call these, and find each other by the id or through the parent. Null where a split
  // gives this rank no color.
  virtual std::unique_ptr<NcclCommunicator> init(const NcclMembership& membership,
                                                 const NcclPurpose& purpose) = 0;
  virtual std::unique_ptr<NcclCommunicator> split(NcclCommunicator& parent, const NcclSplit& split,
                                                  const NcclPurpose& purpose) = 0;

  // Only those that are not `excluded` (ranks of the parent, ascending) call this.
  virtual std::unique_ptr<NcclCommunicator> shrink(NcclCommunicator& parent,
                                                   std::span<const int> excluded, NcclShrink mode,
                                                   const NcclPurpose& purpose) = 0;

  // The communicator's asynchronous error, in_progress or success.
  virtual NcclStatus state(NcclCommunicator& communicator) = 0;

  // Blocks while it is in_progress, at most until `deadline`; in_progress then.
  virtual NcclStatus await_ready(NcclCommunicator& communicator, TimePoint deadline) = 0;

  // Ends what these have under way, on this rank, and makes them useless: all at once, since a
  // device on which another kernel spins can hold up the end of each one alone. Frees nothing, does
  // not wait for the device.
  virtual void revoke(std::span<NcclCommunicator* const> communicators) noexcept = 0;

  // Frees a communicator. May wait until the whole device is idle.
  virtual void destroy(std::unique_ptr<NcclCommunicator> communicator) noexcept = 0;

  // -- Launches -----------------------------------------------------------------------------------

  // Between the two, launches of this thread are collected, and start together.
  virtual void begin_group() = 0;
  virtual void end_group() = 0;

  virtual void launch(NcclCommunicator& communicator, NcclStream& stream, const NcclLaunch& launch,
                      const NcclPurpose& purpose) = 0;

  // -- Streams ------------------------------------------------------------------------------------

  virtual std::unique_ptr<NcclStream> make_stream(StreamPriority priority) = 0;
  virtual std::unique_ptr<NcclEvent> make_event() = 0;

  // The event completes when the stream has come to here. An event may be recorded again once it
  // has completed; one that was never recorded is complete.
  virtual void record(NcclEvent& event, NcclStream& stream) = 0;
  virtual bool is_done(NcclEvent& event) = 0;

  // In stream order: between any two memories of the rank; a function that calls nothing of these.
  virtual void copy(NcclStream& stream, std::byte* to, const std::byte* from,
                    std::size_t bytes) = 0;
  virtual void call(NcclStream& stream, std::function<void()> function) = 0;

  // Counts what could be worth a look at communicators and gangs: interrupts, and what NCCL and
  // peers report; or just that time has passed, where these do not report by themselves.
  virtual std::uint64_t changes() = 0;

  // Blocks until one of `events` (at least one) is complete, or until changes() is no longer
  // `changes_seen`.
  virtual NcclWake wait_any(std::span<NcclEvent* const> events, TimePoint deadline,
                            std::uint64_t changes_seen) = 0;

  virtual void interrupt() noexcept = 0;

  // -- Memory -------------------------------------------------------------------------------------

  virtual std::unique_ptr<NcclBuffer> allocate(NcclMemory memory, std::size_t bytes) = 0;
};

}  // namespace gang
