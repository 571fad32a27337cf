// What the NCCL gangs of one device of a rank share.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "gang/ending_work.h"
#include "gang/gang_cause.h"
#include "gang/nccl/nccl_api.h"
#include "gang/nccl/nccl_meeting.h"

namespace gang {

class NcclFlight;
class NcclMember;

// Who looks after operations that nobody waits for: their timeouts, and what NCCL reports.
enum class NcclWatchdog : std::uint8_t {
  when_asked,  // whoever waits in a gang of the device; a thread once a Work is only tested
  always,      // a thread from the first started operation on: the host may block outside of gangs
};

struct NcclWorld {
  std::shared_ptr<NcclApi> api;
  std::shared_ptr<NcclMeeting> meeting;
  std::shared_ptr<Runtime> runtime;
  NcclWatchdog watchdog = NcclWatchdog::when_asked;
};

// Serializes launches, which NCCL wants from one thread at a time whatever the communicator;
// watches over what is in flight; ends communicators in an order in which none waits for another's
// kernel: all that break together are revoked at once, and freed only when the device is idle.
//
// Threads: any of the rank.
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

  // The right to launch, and to make and end communicators.
  std::unique_lock<RuntimeMutex> launching() const {
    return std::unique_lock<RuntimeMutex>(*launches_);
  }

  // While one lives, an operation is being launched that is not tracked yet: nothing is freed.
  class Upcoming {
   public:
    explicit Upcoming(NcclDevice& device);
    ~Upcoming();
    Upcoming(const Upcoming&) = delete;
    Upcoming& operator=(const Upcoming&) = delete;

   private:
    NcclDevice& device_;
  };

  // `flight` has been launched and its event recorded. Whoever started it may look away.
  void track(const std::shared_ptr<NcclFlight>& flight, bool is_blocking);

  // Blocks until it has ended.
  void await(NcclFlight& flight);

  // Brings what is in flight to its end from now on, by a thread; `flight` at once, if it is there.
  void watch(NcclFlight& flight);

  // Blocks until nothing of `member` is in flight.
  void await_all(const NcclMember& member);

  bool is_busy(const NcclMember& member) const;

  // -- For members --------------------------------------------------------------------------------

  void add(const std::shared_ptr<NcclMember>& member);
  void remove(NcclMember& member) noexcept;  // the last one ends the watchdog

  // Breaks `member` for `cause`, unless it is broken; tells its other members; ends what it has in
  // flight.
  void break_one(NcclMember& member, GangCause cause) noexcept;

  // To be freed when the device is idle.
  void bury(std::unique_ptr<NcclCommunicator> communicator) noexcept;

  // -- For flights --------------------------------------------------------------------------------

  std::unique_ptr<NcclEvent> take_event();
  std::unique_ptr<NcclBuffer> take_buffer(NcclMemory memory, std::size_t bytes);
  void give_back(std::unique_ptr<NcclEvent> event,
                 std::vector<std::unique_ptr<NcclBuffer>> buffers) noexcept;

 private:
  struct Breaking {
    NcclMember* member;
    GangCause cause;
  };

  using Flights = std::vector<std::shared_ptr<NcclFlight>>;
  using Members = std::vector<std::shared_ptr<NcclMember>>;

  Flights flights() const;  // those in flight
  Flights flights(const std::unique_lock<RuntimeMutex>& board_lock) const;
  Members members(const std::unique_lock<RuntimeMutex>& board_lock) const;
  void start_watching();

  TimePoint earliest_deadline() const;
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
  std::unique_ptr<RuntimeMutex> pool_;         // of what is used again
  std::unique_ptr<RuntimeCondition> arrived_;  // a flight for the watchdog, or its end
  // Under the board's lock, as what follows. Whoever waits for one owns it.
  std::vector<std::weak_ptr<NcclFlight>> flights_;
  std::vector<std::weak_ptr<NcclMember>> members_;
  std::vector<std::unique_ptr<NcclCommunicator>> buried_;
  int upcoming_ = 0;
  std::uint64_t looked_at_ = 0;  // of the api's changes
  bool is_stopping_ = false;
  bool is_watched_ = false;
  std::unique_ptr<RuntimeThread> watchdog_;
  std::vector<std::unique_ptr<NcclEvent>> events_;  // under pool_
  std::vector<std::unique_ptr<NcclBuffer>> buffers_;
};

}  // namespace gang
