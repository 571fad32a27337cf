// An operation that a rank's process has started: its memory, its work and its result.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gang/gang.h"
#include "gang/runtime.h"
#include "gang/work.h"
#include "harness/conductor/joined_gangs.h"
#include "harness/conductor/messages.h"
#include "harness/conductor/shared_block.h"

namespace gang::harness {

// Lives until its process has been told the result. Its address is stable: the operation uses its
// memory.
class StartedOperation {
 public:
  // Throws ProtocolError if the memory that the message gives is too small for the operation.
  StartedOperation(OperationMessage message, GangCall call,
                   std::shared_ptr<const SharedBlock> block);

  // Calls the gang; a blocking message blocks. An error of the call is the operation's result.
  void start();

  // Blocks until it has ended, or until `deadline`; whether it has ended. Threads: any of the rank,
  // whose runtime it takes; but who comes while another one waits, waits as long as that one.
  bool wait(Runtime& runtime, std::optional<TimePoint> deadline = {});

  // Blocks until all of `operations` have ended; false if `timeout` has passed first. Threads: as
  // wait.
  static bool wait_all(std::span<const std::shared_ptr<StartedOperation>> operations,
                       std::optional<Duration> timeout, Runtime& runtime);

  // Blocks until one of `operations` (at least one) has ended; its index, the lowest if there are
  // several. Threads: as wait.
  static std::size_t wait_any(std::span<const std::shared_ptr<StartedOperation>> operations,
                              Runtime& runtime);

  // Whether it has ended, without blocking.
  bool test(Runtime& runtime);

  // After the end: null if all is well.
  const std::exception_ptr& error() const noexcept { return error_; }
  // What the process has not seen yet.
  std::span<const std::byte> data() const;
  const Received& received() const noexcept { return received_; }

  const OperationMessage& message() const noexcept { return message_; }
  const Gang& gang() const noexcept { return *gang_; }
  // Of a collective, among its process's on the gang.
  std::uint64_t number() const noexcept { return number_; }
  // How long it may wait.
  Duration timeout() const noexcept;
  // The gang that it has made, or null.
  const std::shared_ptr<Gang>& made() const noexcept { return made_; }

 private:
  // Where the input and the output are in the memory.
  struct Layout {
    std::size_t input_bytes = 0;
    std::size_t output_begin = 0;
    std::size_t output_bytes = 0;
    bool has_input = true;
    bool has_output = true;
  };

  Layout lay_out() const;
  void take_memory(const Layout& layout);
  TensorView input() const;
  TensorView output() const;
  std::vector<TensorView> slices(const TensorView& whole) const;
  void call();
  void call_reduction(const CallOptions& options);
  void call_copy(const CallOptions& options);
  void call_message(const CallOptions& options);
  void make_gang(const CallOptions& options);
  void take(Work work);

  OperationMessage message_;
  std::shared_ptr<Gang> gang_;
  std::optional<Duration> timeout_;  // instead of the gang's
  std::uint64_t number_;
  std::shared_ptr<const SharedBlock> block_;  // null: the memory is `own_`
  std::vector<std::byte> own_;
  std::byte* memory_ = nullptr;
  Layout layout_;
  std::vector<TensorView> list_;  // of a gather or scatter
  Work work_;
  std::unique_ptr<RuntimeMutex> waiting_;  // held by who waits for the work
  bool has_ended_ = false;
  std::exception_ptr error_;
  Received received_;
  std::shared_ptr<Gang> made_;
};

}  // namespace gang::harness
