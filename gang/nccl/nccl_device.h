// What the NCCL gangs of one device of a rank share.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "gang/ending_work.h"
#include "gang/gang_cause.h"
#include "gang/nccl/nccl_api.h"
#include "gang/nccl/nccl_meeting.h"
#include "gang/nccl/nccl_pool.h"

namespace gang {

class NcclFlight;
class NcclMember;

// What looks after operations that no thread waits for: their timeouts, and what NCCL reports.
enum class NcclWatchdog : std::uint8_t {
  when_asked,  // any thread that waits in a gang of the device; its own thread once a Work is only
               // tested
  always,  // its own thread from the first started operation on: the host may block outside gangs
};

struct NcclWorld {
  std::shared_ptr<NcclApi> api;
  std::shared_ptr<NcclMeeting> meeting;
  std::shared_ptr<Runtime> runtime;
  NcclWatchdog watchdog = NcclWatchdog::when_asked;
};

// Serializes launches, which NCCL wants from one thread at a time whatever the communicator;
// watches over what is in flight; and ends communicators such that none waits for the kernel of
// another: all that break together are revoked at once, and freed only when the device is idle.
//
// Threads: any thread of the rank.
class NcclDevice : public std::enable_shared_from_this<NcclDevice> {
 public:
  explicit NcclDevice(NcclWorld world);
  ~NcclDevice();
  NcclDevice(const NcclDevice&) = delete;
  NcclDevice& operator=(const NcclDevice&) = delete;

  NcclApi& api() const noexcept { return *world_.api; }
  NcclMeeting& meeting() const noexcept { return *world_.meeting; }
  Runtime& runtime() const noexcept { return *world_.runtime; }
  const std::shared_ptr<CompletionBoard>& board() const noexcept { return board_; }
  NcclPool& pool() noexcept { return pool_; }

  // The right to launch, and to make and end communicators.
  std::unique_lock<RuntimeMutex> launching() const {
    return std::unique_lock<RuntimeMutex>(*launches_);
  }

  // While one exists, an operation is being launched that is not tracked yet, so nothing is freed.
  class Upcoming {
   public:
    explicit Upcoming(NcclDevice& device);
    ~Upcoming();
    Upcoming(const Upcoming&) = delete;
    Upcoming& operator=(const Upcoming&) = delete;

   private:
    NcclDevice& device_;
  };

  // `flight` has been launched and its event recorded. The thread that started it need not wait.
  void track(const std::shared_ptr<NcclFlight>& flight, bool is_blocking);

  // Blocks until `flight` has ended.
  void await(NcclFlight& flight);

  // From now on, a thread ends what is in flight; ends `flight` at once if it is complete. Whether
  // that, or the start of the thread, may have ended it.
  bool watch(NcclFlight& flight);

  // Blocks until nothing of `member` is in flight.
  void await_all(const NcclMember& member);

  bool is_busy(const NcclMember& member) const;

  // -- For members --

  void add(const std::shared_ptr<NcclMember>& member);
  void remove(NcclMember& member) noexcept;  // removing the last one ends the watchdog

  // Breaks `member` because of `cause`, unless it is broken: tells the others, ends its flights.
  void break_one(NcclMember& member, GangCause cause) noexcept;

  // Frees `communicator` when the device is idle; `drop` revokes it first.
  void bury(std::unique_ptr<NcclCommunicator> communicator) noexcept;
  void drop(std::unique_ptr<NcclCommunicator> communicator);

 private:
  struct Breaking {
    NcclMember* member;
    GangCause cause;
  };

  using Flights = std::vector<std::shared_ptr<NcclFlight>>;
  using Members = std::vector<std::shared_ptr<NcclMember>>;

  Flights flights() const;
  Flights flights(const std::unique_lock<RuntimeMutex>& board_lock) const;
  bool start_watching();  // unless that has been done

  bool finish(NcclFlight& flight);
  void await_end(NcclFlight& flight);
  void time_out();
  std::uint64_t look();
  std::optional<GangCause> trouble_of(NcclMember& member) const;
  void break_all(std::vector<Breaking> breaking) noexcept;
  void free_buried() noexcept;
  void watch_over();
  void stop_watching() noexcept;

  NcclWorld world_;
  std::shared_ptr<CompletionBoard> board_;
  std::unique_ptr<RuntimeMutex> launches_;
  NcclPool pool_;
  std::unique_ptr<RuntimeCondition> arrived_;  // a flight for the watchdog, or its end
  // This and what follows are under the board's lock. The threads that wait for a flight own it.
  std::vector<std::weak_ptr<NcclFlight>> flights_;
  std::vector<std::weak_ptr<NcclMember>> members_;
  std::vector<std::unique_ptr<NcclCommunicator>> buried_;
  int upcoming_ = 0;
  std::uint64_t looked_at_ = 0;  // of the api's changes
  bool is_stopping_ = false;
  bool is_watched_ = false;
  std::unique_ptr<RuntimeThread> watchdog_;
};

}  // namespace gang
