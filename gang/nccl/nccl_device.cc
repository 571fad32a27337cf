#include "gang/nccl/nccl_device.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "gang/nccl/nccl_flight.h"
#include "gang/nccl/nccl_member.h"

namespace gang {
namespace {

// Ignores the exception that unwinds a rank when its simulated run is over.
template <typename Body>
void unless_run_is_over(const Body& body) noexcept {
  try {
    body();
  } catch (...) {
    // Nothing that is left matters any more.
  }
}

// The objects that still exist.
template <typename T>
std::vector<std::shared_ptr<T>> existing(const std::vector<std::weak_ptr<T>>& pointers) {
  std::vector<std::shared_ptr<T>> found;
  for (const auto& one : pointers)
    if (auto object = one.lock()) found.push_back(std::move(object));
  return found;
}

// Erases `object`, and the objects that no longer exist.
template <typename T>
void erase_one(std::vector<std::weak_ptr<T>>& pointers, const T& object) {
  std::erase_if(pointers, [&object](const std::weak_ptr<T>& one) {
    const auto other = one.lock();
    return other == nullptr || other.get() == &object;
  });
}

TimePoint earliest_deadline(const std::vector<std::shared_ptr<NcclFlight>>& flights) {
  TimePoint earliest = TimePoint::max();
  for (const auto& flight : flights) earliest = std::min(earliest, flight->deadline());
  return earliest;
}

}  // namespace

NcclDevice::NcclDevice(NcclWorld world)
    : world_(std::move(world)),
      board_(std::make_shared<CompletionBoard>(world_.runtime)),
      launches_(world_.runtime->make_mutex()),
      pool_(*world_.api, *world_.runtime),
      arrived_(world_.runtime->make_condition()) {}

NcclDevice::~NcclDevice() {
  stop_watching();
  for (auto& communicator : buried_) api().destroy(std::move(communicator));
}

// -- In flight --

NcclDevice::Upcoming::Upcoming(NcclDevice& device) : device_(device) {
  const auto lock = device_.board_->lock();
  ++device_.upcoming_;
}

NcclDevice::Upcoming::~Upcoming() {
  unless_run_is_over([this] {
    const auto lock = device_.board_->lock();
    --device_.upcoming_;
  });
}

NcclDevice::Flights NcclDevice::flights(const std::unique_lock<RuntimeMutex>&) const {
  return existing(flights_);
}

NcclDevice::Flights NcclDevice::flights() const { return flights(board_->lock()); }

void NcclDevice::track(const std::shared_ptr<NcclFlight>& flight, bool is_blocking) {
  bool is_watched = false;
  {
    const auto lock = board_->lock();
    flights_.push_back(flight);
    is_watched = is_watched_;
    if (is_watched) arrived_->notify_one();
  }
  if (is_watched) return api().interrupt();
  if (!is_blocking && world_.watchdog == NcclWatchdog::always) start_watching();
}

bool NcclDevice::is_busy(const NcclMember& member) const {
  return std::ranges::any_of(
      flights(), [&member](const auto& flight) { return &flight->member() == &member; });
}

// A wait that is thrown out before the operation ends belongs to a rank that is being unwound: by
// the end of a simulated run, or by a fault.
void NcclDevice::await(NcclFlight& flight) {
  try {
    await_end(flight);
  } catch (...) {
    flight.forget_tensors();
    flight.leave_memory();
    throw;
  }
}

// The waiting thread is the watchdog of everything in flight.
void NcclDevice::await_end(NcclFlight& flight) {
  NcclEvent* const event = &flight.event();
  while (!flight.has_ended()) {
    const std::uint64_t seen = look();
    const NcclWake wake = api().wait_any({&event, 1}, earliest_deadline(flights()), seen);
    if (wake.reason == NcclWake::Reason::deadline) {
      time_out();
    } else if (wake.reason == NcclWake::Reason::done && !finish(flight)) {
      auto lock = board_->lock();
      while (!flight.has_ended()) board_->changed().wait(lock);
    }
  }
}

void NcclDevice::await_all(const NcclMember& member) {
  for (const auto& flight : flights())
    if (&flight->member() == &member) await(*flight);
}

// Ends the flight; false if another thread does so.
bool NcclDevice::finish(NcclFlight& flight) {
  std::exception_ptr error;
  bool is_idle = false;
  {
    const auto lock = board_->lock();
    if (std::exchange(flight.is_claimed_, true)) return false;
    erase_one(flights_, flight);
    is_idle = flights_.empty() && !buried_.empty();
    if (flight.member().is_broken(lock) && !flight.was_in_time_)
      error =
          std::make_exception_ptr(flight.member().error_of(flight.purpose(), flight.began(), lock));
  }
  if (error == nullptr) flight.copy_back();
  flight.end(std::move(error), flight.received_here());
  if (is_idle) free_buried();
  return true;
}

// -- What goes wrong --

// A late operation holds up its device, so everything else under way there ends with it.
void NcclDevice::time_out() {
  std::vector<Breaking> breaking;
  Flights late;
  Members all;
  {
    const auto lock = board_->lock();
    const TimePoint now = runtime().now();
    late = flights(lock);
    all = existing(members_);
    std::erase_if(late, [now, &lock](const auto& flight) {
      return flight->deadline() > now || flight->member().is_broken(lock);
    });
  }
  if (late.empty()) return;
  for (const auto& flight : late)
    breaking.push_back({&flight->member(), flight->member().timeout_cause(flight->purpose())});
  for (const auto& member : all)
    breaking.push_back({member.get(), member->neighbor_cause(late.front()->member())});
  break_all(std::move(breaking));
}

// Looks at what has changed since the last look; returns the changes seen.
std::uint64_t NcclDevice::look() {
  const std::uint64_t changes = api().changes();
  Members intact;
  {
    const auto lock = board_->lock();
    if (std::exchange(looked_at_, changes) == changes) return changes;
    intact = existing(members_);
    std::erase_if(intact, [&lock](const auto& member) { return member->is_broken(lock); });
  }
  for (const auto& member : intact)
    if (auto cause = trouble_of(*member)) break_one(*member, *std::move(cause));
  return changes;
}

std::optional<GangCause> NcclDevice::trouble_of(NcclMember& member) const {
  if (const auto note = meeting().find_note(member.key()))
    if (auto cause = parse_note(*note)) return cause;
  const auto lock = board_->lock();
  if (member.is_closed(lock)) return std::nullopt;
  const NcclStatus status = api().state(member.communicator());
  if (status == NcclStatus::success || status == NcclStatus::in_progress) return std::nullopt;
  return member.status_cause(status);
}

void NcclDevice::break_one(NcclMember& member, GangCause cause) noexcept {
  std::vector<Breaking> breaking;
  breaking.push_back({&member, std::move(cause)});
  break_all(std::move(breaking));
}

// Members of the list that are already broken stay as they are.
void NcclDevice::break_all(std::vector<Breaking> breaking) noexcept {
  unless_run_is_over([this, &breaking] {
    {
      const auto lock = board_->lock();
      std::erase_if(breaking, [&lock](const Breaking& one) {
        return !one.member->set_cause(one.cause, lock);
      });
      for (const auto& flight : flights(lock))
        if (std::ranges::find(breaking, &flight->member(), &Breaking::member) != breaking.end())
          flight->was_in_time_ = api().is_done(flight->event());
    }
    for (const Breaking& one : breaking)
      if (one.member->size() > 1) meeting().leave_note(one.member->key(), to_note(one.cause));
    std::vector<NcclCommunicator*> communicators;
    const auto launches = launching();  // no thread is inside NCCL
    const auto lock = board_->lock();
    for (const Breaking& one : breaking)
      if (!one.member->is_closed(lock)) communicators.push_back(&one.member->communicator());
    if (!communicators.empty()) api().revoke(communicators);
  });
}

void NcclDevice::bury(std::unique_ptr<NcclCommunicator> communicator) noexcept {
  unless_run_is_over([this, &communicator] {
    {
      const auto lock = board_->lock();
      buried_.push_back(std::move(communicator));
    }
    free_buried();
  });
}

void NcclDevice::drop(std::unique_ptr<NcclCommunicator> communicator) {
  NcclCommunicator* const dead[] = {communicator.get()};
  {
    const auto launches = launching();
    api().revoke(dead);
  }
  bury(std::move(communicator));
}

// Freeing may wait for the whole device, so it waits until nothing is in flight.
void NcclDevice::free_buried() noexcept {
  unless_run_is_over([this] {
    const auto launches = launching();
    std::vector<std::unique_ptr<NcclCommunicator>> dead;
    {
      const auto lock = board_->lock();
      if (upcoming_ == 0 && flights(lock).empty()) dead.swap(buried_);
    }
    for (auto& communicator : dead) api().destroy(std::move(communicator));
  });
}

void NcclDevice::add(const std::shared_ptr<NcclMember>& member) {
  const auto lock = board_->lock();
  members_.push_back(member);
}

void NcclDevice::remove(NcclMember& member) noexcept {
  unless_run_is_over([this, &member] {
    bool is_last = false;
    {
      const auto lock = board_->lock();
      erase_one(members_, member);
      is_last = members_.empty();
    }
    if (is_last) stop_watching();
  });
}

// -- The watchdog --

bool NcclDevice::watch(NcclFlight& flight) {
  if (!api().is_done(flight.event())) return start_watching();
  finish(flight);
  return true;
}

bool NcclDevice::start_watching() {
  {
    const auto lock = board_->lock();
    if (members_.empty() || std::exchange(is_watched_, true)) return false;
  }
  watchdog_ = runtime().start_thread("nccl watchdog", [this] { watch_over(); });
  return true;
}

void NcclDevice::watch_over() {
  while (true) {
    const std::uint64_t seen = look();
    Flights flights;
    {
      auto lock = board_->lock();
      while (!is_stopping_ && (flights = this->flights(lock)).empty()) arrived_->wait(lock);
      if (is_stopping_) return;
    }
    std::vector<NcclEvent*> events;
    for (const auto& flight : flights) events.push_back(&flight->event());
    const NcclWake wake = api().wait_any(events, earliest_deadline(this->flights()), seen);
    if (wake.reason == NcclWake::Reason::deadline) time_out();
    if (wake.reason == NcclWake::Reason::done) finish(*flights[wake.index]);
  }
}

void NcclDevice::stop_watching() noexcept {
  unless_run_is_over([this] {
    if (watchdog_ == nullptr) return;
    {
      const auto lock = board_->lock();
      is_stopping_ = true;
      arrived_->notify_one();
    }
    api().interrupt();
    watchdog_.reset();  // joins
    const auto lock = board_->lock();
    is_watched_ = false;
    is_stopping_ = false;
  });
}

}  // namespace gang
