// NCCL and the part of CUDA that gangs need, as one rank sees them: real or simulated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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

// What NCCL reports about a call or a communicator. Source: ncclResult_t of nccl.h, 2.28.
enum class NcclStatus : std::uint8_t {
  success,
  cuda_error,
  system_error,
  internal_error,
  invalid_argument,  // fails this call only; any other error ends the communicator
  invalid_usage,
  remote_error,  // a peer is gone, as far as the network shows
  in_progress,   // a nonblocking communicator is not ready yet
};

std::string_view to_string(NcclStatus status) noexcept;  // "remote error", ...

// A call or a communicator failed.
class NcclError : public Error {
 public:
  NcclError(NcclStatus status, const std::string& text) : Error(text), status_(status) {}
  NcclStatus status() const noexcept { return status_; }

 private:
  NcclStatus status_;
};

// How the members of a communicator find each other.
using NcclId = std::array<std::byte, 128>;

// Objects of an NcclApi, which outlives them. Nothing uses them any more when they are destroyed.
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

// The call of the program for which something is done; reports name it.
struct NcclPurpose {
  std::shared_ptr<const GangInfo> gang;
  Collective call;  // without its label
};

struct NcclMembership {
  NcclId id;
  int rank = 0;
  int size = 1;
};

// A member that joins none of the new communicators has no_color.
struct NcclSplit {
  int color = no_color;
  int key = 0;
};

enum class NcclShrink : std::uint8_t {
  ordinary,
  abort_parent,  // first ends what is under way on the parent
};

// One operation of a communicator. If input and output differ in size, `count` is that of one
// rank's part, as in NCCL. Source: the collectives of nccl.h, 2.28.
struct NcclLaunch {
  // all_reduce, reduce, reduce_scatter, all_gather, gather, scatter, all_to_all, broadcast, send,
  // recv.
  OperationKind kind = OperationKind::all_reduce;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::int64_t count = 0;
  DataType data_type = DataType::f32;                       // not boolean
  ReduceOperation reduce_operation = ReduceOperation::sum;  // not a bitwise one
  int peer = no_rank;  // the root, the destination or the source
};

// How a wait ended.
struct NcclWake {
  enum class Reason : std::uint8_t {
    done,      // the event at `index` is complete
    deadline,  // no event is complete, and the deadline has passed
    look,      // no event is complete, and changes() has increased
  };
  Reason reason = Reason::done;
  std::size_t index = 0;
};

// One device of one rank. Communicators do not block: what takes time leaves them in_progress.
// Every method throws NcclError if NCCL or CUDA fails; starting something does not wait for it.
//
// Threads: launches, groups and what makes or ends communicators by one thread of the rank at a
// time, whatever the communicator (NCCL's own rule for its callers); everything else by any.
class NcclApi {
 public:
  virtual ~NcclApi() = default;

  virtual Device device() const noexcept = 0;

  // -- Communicators --

  virtual NcclId make_id() = 0;

  // All members call these, and find each other by the id or through the parent. Null if this rank
  // has no color in a split.
  virtual std::unique_ptr<NcclCommunicator> init(const NcclMembership& membership,
                                                 const NcclPurpose& purpose) = 0;
  virtual std::unique_ptr<NcclCommunicator> split(NcclCommunicator& parent, const NcclSplit& split,
                                                  const NcclPurpose& purpose) = 0;

  // Called only by the members that are not `excluded` (ranks of the parent, ascending).
  virtual std::unique_ptr<NcclCommunicator> shrink(NcclCommunicator& parent,
                                                   std::span<const int> excluded, NcclShrink mode,
                                                   const NcclPurpose& purpose) = 0;

  // The communicator's asynchronous error, or in_progress, or success.
  virtual NcclStatus state(NcclCommunicator& communicator) = 0;

  // Blocks while it is in_progress; returns in_progress at `deadline`.
  virtual NcclStatus await_ready(NcclCommunicator& communicator, TimePoint deadline) = 0;

  // Ends what is under way on these communicators, on this rank, and makes them unusable: all at
  // once, since ending one alone could be held up by the spinning kernel of another. Frees nothing
  // and does not wait for the device.
  virtual void revoke(std::span<NcclCommunicator* const> communicators) noexcept = 0;

  // Frees a communicator. May wait until the whole device is idle.
  virtual void destroy(std::unique_ptr<NcclCommunicator> communicator) noexcept = 0;

  // -- Launches --

  // Launches of this thread between the two calls are collected and start together.
  //
  // end_group, and a launch outside a group, may leave the communicator in_progress. Until it is
  // ready it takes no other launch, and what is put into the stream may come before this one.
  virtual void begin_group() = 0;
  virtual void end_group() = 0;

  virtual void launch(NcclCommunicator& communicator, NcclStream& stream, const NcclLaunch& launch,
                      const NcclPurpose& purpose) = 0;

  // -- Streams --

  virtual std::unique_ptr<NcclStream> make_stream(StreamPriority priority) = 0;
  virtual std::unique_ptr<NcclEvent> make_event() = 0;

  // The event completes when the stream reaches this point. An event may be recorded again once it
  // has completed; one that was never recorded is complete.
  virtual void record(NcclEvent& event, NcclStream& stream) = 0;
  virtual bool is_done(NcclEvent& event) = 0;

  // In stream order: a copy between any two memories of the rank; a function, which must not call
  // methods of this class.
  virtual void copy(NcclStream& stream, std::byte* to, const std::byte* from,
                    std::size_t bytes) = 0;
  virtual void call(NcclStream& stream, std::function<void()> function) = 0;

  // Counts the reasons to look at communicators and gangs: interrupts and what NCCL and peers
  // report, or simply the passing of time if these do not report by themselves.
  virtual std::uint64_t changes() = 0;

  // Blocks until one of `events` (at least one) is complete, until changes() is no longer
  // `changes_seen`, or until `deadline`.
  virtual NcclWake wait_any(std::span<NcclEvent* const> events, TimePoint deadline,
                            std::uint64_t changes_seen) = 0;

  virtual void interrupt() noexcept = 0;

  // -- Memory --

  virtual std::unique_ptr<NcclBuffer> allocate(NcclMemory memory, std::size_t bytes) = 0;
};

}  // namespace gang
