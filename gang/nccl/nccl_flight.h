// An operation of an NCCL gang that has been launched.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "gang/ending_work.h"
#include "gang/nccl/nccl_api.h"
#include "gang/operation.h"

namespace gang {

class NcclDevice;
class NcclMember;

// What the host must still copy when the device is done.
struct NcclCopyBack {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
};

// Complete when its event is; the first thread to see that ends it (NcclDevice). Keeps the memory
// that the device uses until the last handle is gone.
class NcclFlight final : public EndingWork {
 public:
  NcclFlight(std::shared_ptr<NcclDevice> device, std::shared_ptr<NcclMember> member,
             const Operation& operation);
  ~NcclFlight() override;
  NcclFlight(const NcclFlight&) = delete;
  NcclFlight& operator=(const NcclFlight&) = delete;

  NcclMember& member() const noexcept { return *member_; }
  NcclEvent& event() const noexcept { return *event_; }
  const NcclPurpose& purpose() const noexcept { return purpose_; }
  TimePoint began() const noexcept { return began_; }
  TimePoint deadline() const noexcept { return deadline_; }

  // Memory for this operation, given back when it is destroyed.
  std::byte* scratch(NcclMemory memory, std::size_t bytes);

  // For the thread that launches it.
  void add_copy_back(const NcclCopyBack& copy) { copies_.push_back(copy); }
  void set_received(Received received) noexcept { received_ = received; }

  // What was launched may continue to use the memory although the operation has failed.
  void leave_memory();

  // No thread waits any more, and the caller's tensors may be gone: from now on nothing is copied
  // to them, whichever thread ends the operation.
  void forget_tensors() noexcept;

  // For the thread that ends it.
  void copy_back() noexcept;
  Received received_here() const noexcept { return received_; }

 protected:
  void await() override;
  bool run_in_background() override;
  void abandon() noexcept override;

 private:
  friend class NcclDevice;

  std::shared_ptr<NcclDevice> device_;
  std::shared_ptr<NcclMember> member_;
  NcclPurpose purpose_;
  TimePoint began_;
  TimePoint deadline_;
  std::unique_ptr<NcclEvent> event_;
  std::vector<std::unique_ptr<NcclBuffer>> buffers_;
  std::mutex copying_;  // never held while anything blocks
  std::vector<NcclCopyBack> copies_;
  Received received_;
  bool is_claimed_ = false;   // a thread is ending it; under the board's lock, like was_in_time_
  bool was_in_time_ = false;  // it was complete before its gang broke
};

}  // namespace gang
