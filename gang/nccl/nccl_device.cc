#include "gang/nccl/nccl_device.h"

#include <algorithm>
#include <bit>
#include <exception>
#include <utility>

#include "gang/nccl/nccl_flight.h"
#include "gang/nccl/nccl_member.h"

namespace gang {

NcclDevice::NcclDevice(NcclWorld world)
    : world_(std::move(world)),
      board_(std::make_shared<CompletionBoard>(world_.runtime)),
      launches_(world_.runtime->make_mutex()),
      pool_(world_.runtime->make_mutex()),
      arrived_(world_.runtime->make_condition()) {}

NcclDevice::~NcclDevice() {
  stop_watching();
  for (auto& communicator : buried_) api().destroy(std::move(communicator));
}

// -- In flight
// ------------------------------------------------------------------------------------

NcclDevice::Upcoming::Upcoming(NcclDevice& device) : device_(device) {
  const auto lock = device_.board_->lock();
  ++device_.upcoming_;
}

NcclDevice::Upcoming::~Upcoming() {
  try {
    const auto lock = device_.board_->lock();
    --device_.upcoming_;
  } catch (...) {
    // A simulated run is over.
  }
}

NcclDevice::Flights NcclDevice::flights(const std::unique_lock<RuntimeMutex>&) const {
  Flights flights;
  for (const auto& one : flights_)
    if (auto flight = one.lock()) flights.push_back(std::move(flight));
  return flights;
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

TimePoint NcclDevice::earliest_deadline() const {
  TimePoint earliest = TimePoint::max();
  for (const auto& flight : flights()) earliest = std::min(earliest, flight->deadline());
  return earliest;
}

// A wait that ends before the operation is that of a rank which is thrown out: by the end of a
// simulated run, or by a fault.
void NcclDevice::await(NcclFlight& flight) {
  try {
    await_end(flight);
  } catch (...) {
    flight.forget_tensors();
    flight.leave_memory();
    throw;
  }
}

// Whoever waits is the watchdog of all that is in flight.
void NcclDevice::await_end(NcclFlight& flight) {
  NcclEvent* const event = &flight.event();
  while (!flight.has_ended()) {
    const std::uint64_t seen = look();
    const NcclWake wake = api().wait_any({&event, 1}, earliest_deadline(), seen);
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

// False if another thread does it.
bool NcclDevice::finish(NcclFlight& flight) {
  std::exception_ptr error;
  bool is_idle = false;
  {
    const auto lock = board_->lock();
    if (std::exchange(flight.is_claimed_, true)) return false;
    std::erase_if(flights_, [&flight](const std::weak_ptr<NcclFlight>& one) {
      const auto other = one.lock();
      return other == nullptr || other.get() == &flight;
    });
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

// -- What goes wrong
// ------------------------------------------------------------------------------

// An operation that is late holds up its device: whatever else is under way there ends with it.
void NcclDevice::time_out() {
  std::vector<Breaking> breaking;
  Flights late;
  Members all;
  {
    const auto lock = board_->lock();
    const TimePoint now = runtime().now();
    late = flights(lock);
    all = members(lock);
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

// At what has changed since the last look; returns the changes that have been looked at.
std::uint64_t NcclDevice::look() {
  const std::uint64_t changes = api().changes();
  Members intact;
  {
    const auto lock = board_->lock();
    if (std::exchange(looked_at_, changes) == changes) return changes;
    intact = members(lock);
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

// Those of a list who are broken already stay as they are.
void NcclDevice::break_all(std::vector<Breaking> breaking) noexcept {
  try {
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
    const auto launches = launching();  // nobody is inside of NCCL
    const auto lock = board_->lock();
    for (const Breaking& one : breaking)
      if (!one.member->is_closed(lock)) communicators.push_back(&one.member->communicator());
    if (!communicators.empty()) api().revoke(communicators);
  } catch (...) {
    // A simulated run is over.
  }
}

void NcclDevice::bury(std::unique_ptr<NcclCommunicator> communicator) noexcept {
  try {
    {
      const auto lock = board_->lock();
      buried_.push_back(std::move(communicator));
    }
    free_buried();
  } catch (...) {
    // A simulated run is over.
  }
}

// Freeing may wait for the whole device, so it waits until nothing is in flight.
void NcclDevice::free_buried() noexcept {
  try {
    const auto launches = launching();
    std::vector<std::unique_ptr<NcclCommunicator>> dead;
    {
      const auto lock = board_->lock();
      if (upcoming_ == 0 && flights(lock).empty()) dead.swap(buried_);
    }
    for (auto& communicator : dead) api().destroy(std::move(communicator));
  } catch (...) {
    // A simulated run is over.
  }
}

NcclDevice::Members NcclDevice::members(const std::unique_lock<RuntimeMutex>&) const {
  Members members;
  for (const auto& one : members_)
    if (auto member = one.lock()) members.push_back(std::move(member));
  return members;
}

void NcclDevice::add(const std::shared_ptr<NcclMember>& member) {
  const auto lock = board_->lock();
  members_.push_back(member);
}

void NcclDevice::remove(NcclMember& member) noexcept {
  try {
    bool is_last = false;
    {
      const auto lock = board_->lock();
      std::erase_if(members_, [&member](const std::weak_ptr<NcclMember>& one) {
        const auto other = one.lock();
        return other == nullptr || other.get() == &member;
      });
      is_last = members_.empty();
    }
    if (is_last) stop_watching();
  } catch (...) {
    // A simulated run is over.
  }
}

// -- The watchdog
// ---------------------------------------------------------------------------------

void NcclDevice::watch(NcclFlight& flight) {
  if (api().is_done(flight.event())) {
    finish(flight);
    return;
  }
  start_watching();
}

void NcclDevice::start_watching() {
  {
    const auto lock = board_->lock();
    if (members_.empty() || std::exchange(is_watched_, true)) return;
  }
  watchdog_ = runtime().start_thread("nccl watchdog", [this] { watch_over(); });
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
    const NcclWake wake = api().wait_any(events, earliest_deadline(), seen);
    if (wake.reason == NcclWake::Reason::deadline) time_out();
    if (wake.reason == NcclWake::Reason::done) finish(*flights[wake.index]);
  }
}

void NcclDevice::stop_watching() noexcept {
  try {
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
  } catch (...) {
    // A simulated run is over.
  }
}

// -- What is used again
// ---------------------------------------------------------------------------

std::unique_ptr<NcclEvent> NcclDevice::take_event() {
  {
    const std::unique_lock<RuntimeMutex> lock(*pool_);
    if (!events_.empty()) {
      std::unique_ptr<NcclEvent> event = std::move(events_.back());
      events_.pop_back();
      return event;
    }
  }
  return api().make_event();
}

std::unique_ptr<NcclBuffer> NcclDevice::take_buffer(NcclMemory memory, std::size_t bytes) {
  {
    const std::unique_lock<RuntimeMutex> lock(*pool_);
    const auto fits = [memory, bytes](const std::unique_ptr<NcclBuffer>& buffer) {
      return buffer->memory() == memory && buffer->size_bytes() >= bytes &&
             buffer->size_bytes() / 2 <= std::max<std::size_t>(bytes, 4096);
    };
    const auto found = std::ranges::find_if(buffers_, fits);
    if (found != buffers_.end()) {
      std::unique_ptr<NcclBuffer> buffer = std::move(*found);
      buffers_.erase(found);
      return buffer;
    }
  }
  return api().allocate(memory, std::bit_ceil(std::max<std::size_t>(bytes, 256)));
}

void NcclDevice::give_back(std::unique_ptr<NcclEvent> event,
                           std::vector<std::unique_ptr<NcclBuffer>> buffers) noexcept {
  try {
    const std::unique_lock<RuntimeMutex> lock(*pool_);
    if (event != nullptr) events_.push_back(std::move(event));
    for (auto& buffer : buffers) buffers_.push_back(std::move(buffer));
  } catch (...) {
    // A simulated run is over.
  }
}

}  // namespace gang
