#include "sim/backends/gloo/gloo_endpoint.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <gloo/common/error.h>
#include <gloo/transport/address.h>
#include <gloo/transport/pair.h>

#include "gang/gloo/gloo_connector.h"
#include "sim/state/rank_state.h"
#include "sim/state/world.h"

namespace gang::sim {

using std::chrono::milliseconds;

namespace {

constexpr const char* closed_here = "Connection closed by this rank";

class MemoryAddress final : public gloo::transport::Address {
 public:
  std::string str() const override { return "simulated"; }
  std::vector<char> bytes() const override { return {'s'}; }
};

[[noreturn]] void refuse(const char* what) {
  throw gloo::InvalidOperationException(fmt::format("{} is not simulated", what));
}

class MemoryPair final : public gloo::transport::Pair {
 public:
  MemoryPair(GlooEndpoint& endpoint, int peer) : endpoint_(endpoint), peer_(peer) {}

  const gloo::transport::Address& address() const override { return address_; }
  void connect(const std::vector<char>&) override {}
  void close() override {
    const Engine::Guard guard(endpoint_.engine());
    endpoint_.meeting().close(endpoint_.rank, peer_, closed_here);
  }
  void setSync(bool, bool) override { refuse("Pair::setSync"); }
  std::unique_ptr<gloo::transport::Buffer> createSendBuffer(int, void*, size_t) override {
    refuse("Pair::createSendBuffer");
  }
  std::unique_ptr<gloo::transport::Buffer> createRecvBuffer(int, void*, size_t) override {
    refuse("Pair::createRecvBuffer");
  }
  void send(gloo::transport::UnboundBuffer* buffer, uint64_t slot, size_t offset,
            size_t bytes) override {
    buffer->send(peer_, slot, offset, bytes);
  }
  void recv(gloo::transport::UnboundBuffer* buffer, uint64_t slot, size_t offset,
            size_t bytes) override {
    buffer->recv(peer_, slot, offset, bytes);
  }

 private:
  GlooEndpoint& endpoint_;
  int peer_;
  MemoryAddress address_;
};

// The collective to which a slot belongs. Source: Gloo, gloo/types.h.
std::string_view name_of_slot(std::uint64_t slot) noexcept {
  static constexpr std::array names = {"message",   "gather",     "all_gather",
                                       "reduce",    "all_reduce", "scatter",
                                       "broadcast", "barrier",    "all_to_all"};
  const std::uint64_t prefix = slot >> 56U;
  return prefix < names.size() ? names[prefix] : names[0];
}

}  // namespace

// -- GlooEndpoint --

GlooEndpoint::GlooEndpoint(World& world, std::shared_ptr<GlooMeeting> meeting, int member,
                           Strikes& strikes)
    : Context(member, meeting->size()),
      world_(world),
      meeting_(std::move(meeting)),
      strikes_(strikes) {
  setTimeout(std::chrono::seconds(30));  // as in Gloo's own contexts; the base class sets none
}

GlooEndpoint::~GlooEndpoint() {
  const Engine::Guard guard(world_.engine);
  close_all(closed_here);
}

void GlooEndpoint::close_all(const std::string& reason) {
  for (int peer = 0; peer < size; ++peer)
    if (peer != rank) meeting_->close(rank, peer, reason);
}

std::unique_ptr<gloo::transport::Pair>& GlooEndpoint::getPair(int peer) { return createPair(peer); }

std::unique_ptr<gloo::transport::Pair>& GlooEndpoint::createPair(int peer) {
  auto& pair = pairs_.at(static_cast<std::size_t>(peer));
  if (pair == nullptr && peer != rank) pair = std::make_unique<MemoryPair>(*this, peer);
  return pair;
}

std::unique_ptr<gloo::transport::UnboundBuffer> GlooEndpoint::createUnboundBuffer(void* data,
                                                                                  size_t bytes) {
  return std::make_unique<GlooBuffer>(*this, data, bytes);
}

// -- GlooBuffer --

GlooBuffer::GlooBuffer(GlooEndpoint& endpoint, void* data, size_t bytes)
    : UnboundBuffer(data, bytes),
      endpoint_(endpoint),
      step_key_(guide() != nullptr ? guide()->new_object() : 0) {}

GlooBuffer::~GlooBuffer() {
  if (sends_.pending == 0 && receives_.pending == 0) return;
  const Engine::Guard guard(endpoint_.engine());
  endpoint_.meeting().cancel(endpoint_.rank, *this);
}

GlooStep GlooBuffer::step_of(uint64_t slot) const {
  const Task& task = endpoint_.engine().current();
  const GlooActivity* const activity = task.rare().activity;
  return {.meeting = endpoint_.meeting().key(),
          .member = endpoint_.rank,
          .slot = slot,
          .buffer = step_key_,
          .rank = task.rank->rank,
          .call_site = activity != nullptr ? activity->call.call_site : CallSite{}};
}

GlooTransfer GlooBuffer::transfer(uint64_t slot, size_t offset, size_t bytes) {
  if (bytes == kUnspecifiedByteCount) bytes = size - offset;
  return {.party = this, .slot = slot, .offset = offset, .bytes = bytes};
}

void GlooBuffer::send(int destination, uint64_t slot, size_t offset, size_t bytes) {
  const Engine::Guard guard(endpoint_.engine());
  endpoint_.strikes().at_step();
  ++sends_.pending;
  sends_.slot = slot;
  if (Guide* guide = this->guide()) note_send(*guide, step_of(slot), destination);
  const std::string* const closed =
      endpoint_.meeting().send(endpoint_.rank, destination, transfer(slot, offset, bytes));
  if (closed == nullptr) return;
  note_closed_connection();
  --sends_.pending;
  throw gloo::IoException(*closed);
}

void GlooBuffer::recv(int source, uint64_t slot, size_t offset, size_t bytes) {
  const Engine::Guard guard(endpoint_.engine());
  endpoint_.strikes().at_step();
  ++receives_.pending;
  receives_.slot = slot;
  if (Guide* guide = this->guide()) note_receive(*guide, step_of(slot), AnySource::no);
  const std::string* const closed =
      endpoint_.meeting().receive(endpoint_.rank, source, transfer(slot, offset, bytes));
  if (closed == nullptr) return;
  note_closed_connection();
  --receives_.pending;
  throw gloo::IoException(*closed);
}

void GlooBuffer::recv(std::vector<int> sources, uint64_t slot, size_t offset, size_t bytes) {
  const Engine::Guard guard(endpoint_.engine());
  // From one source messages come in one order, whatever the schedule.
  if (endpoint_.size > 2) endpoint_.engine().choices().note_guided_choice();
  ++receives_.pending;
  receives_.slot = slot;
  const GlooStep step = step_of(slot);
  open_at_ = step.call_site;
  if (Guide* guide = this->guide()) note_receive(*guide, step, AnySource::yes);
  std::vector<bool> is_source(static_cast<std::size_t>(endpoint_.size), false);
  for (const int source : sources) is_source[static_cast<std::size_t>(source)] = true;
  endpoint_.meeting().receive_from_any(endpoint_.rank, transfer(slot, offset, bytes),
                                       std::move(is_source));
}

bool GlooBuffer::waitRecv(int* rank, milliseconds timeout) {
  return wait(receives_, rank, timeout);
}

bool GlooBuffer::waitSend(int* rank, milliseconds timeout) { return wait(sends_, rank, timeout); }

bool GlooBuffer::wait(Direction& direction, int* rank, milliseconds timeout) {
  Engine& engine = endpoint_.engine();
  const Engine::Guard guard(engine);
  require_running(engine, "a work");
  engine.scheduling_point();
  if (timeout == gloo::transport::kUnsetTimeout) timeout = endpoint_.getTimeout();
  const Wait wait{.reason = Wait::Reason::message,
                  .target = this,
                  .deadline = deadline_after(engine.now(), timeout)};
  while (direction.completed == 0 && !direction.is_aborted) {
    if (!direction.error.empty()) throw gloo::IoException(direction.error);
    if (engine.clock().has_passed(wait.deadline)) {
      endpoint_.close_all("Application timeout caused pair closure");
      throw gloo::IoException(fmt::format("Timed out waiting {}ms for {} operation to complete",
                                          timeout.count(),
                                          &direction == &sends_ ? "send" : "recv"));
    }
    Task& self = engine.current();
    direction.waiter = &self;
    awaited_ = &direction;
    activity_ = self.rare().activity;
    engine.clock().note_deadline(wait.deadline);
    engine.block(self, wait);
  }
  direction.waiter = nullptr;
  if (Guide* guide = this->guide()) guide->join(step_key_);
  if (std::exchange(direction.is_aborted, false)) return false;
  if (rank != nullptr) *rank = direction.last_peer;
  --direction.completed;
  return true;
}

void GlooBuffer::abort(Direction& direction) {
  const Engine::Guard guard(endpoint_.engine());
  direction.is_aborted = true;
  wake(direction);
}

// In another schedule the connection may close earlier or later.
void GlooBuffer::note_closed_connection() {
  Engine& engine = endpoint_.engine();
  if (!engine.is_over()) engine.choices().note_choice_point(Unguided::backend);
}

void GlooBuffer::wake(Direction& direction) {
  if (direction.waiter != nullptr) endpoint_.engine().wake(*direction.waiter);
}

void GlooBuffer::completed(GlooParty::Side side, int peer, const GlooParty& other) {
  if (Guide* guide = this->guide()) {
    guide->carry(other.step_key(), step_key_);
    if (side == GlooParty::Side::receive && open_at_)
      note_taken_by_any(*guide, endpoint_.meeting().root_rank_of(endpoint_.rank), *open_at_,
                        other.step_key());
  }
  Direction& direction = direction_of(side);
  --direction.pending;
  ++direction.completed;
  direction.last_peer = peer;
  wake(direction);
}

void GlooBuffer::failed(GlooParty::Side side, const std::string& reason) {
  note_closed_connection();
  Direction& direction = direction_of(side);
  --direction.pending;
  direction.error = reason;
  wake(direction);
}

std::vector<int> GlooBuffer::awaited_ranks() const {
  const GlooMeeting& meeting = endpoint_.meeting();
  std::vector<int> members = takes_any() ? meeting.open_receive_pending(endpoint_.rank, *this)
                             : awaited_ == &sends_
                                 ? meeting.sends_pending(endpoint_.rank, *this)
                                 : meeting.receives_pending(endpoint_.rank, *this);
  for (int& member : members) member = meeting.root_rank_of(member);
  std::ranges::sort(members);
  return members;
}

bool GlooBuffer::takes_any() const {
  return awaited_ == &receives_ &&
         !endpoint_.meeting().open_receive_pending(endpoint_.rank, *this).empty();
}

const Collective* GlooBuffer::call() const {
  return activity_ != nullptr ? &activity_->call : nullptr;
}

const GangInfo* GlooBuffer::gang() const {
  return activity_ != nullptr ? &activity_->gang : nullptr;
}

std::string GlooBuffer::describe() const {
  return fmt::format("{} of {}", awaited_ == &sends_ ? "send" : "receive",
                     name_of_slot(awaited_->slot));
}

}  // namespace gang::sim
