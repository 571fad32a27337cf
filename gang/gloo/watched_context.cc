#include "gang/gloo/watched_context.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <gloo/common/error.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/unbound_buffer.h>

#include "gang/gloo/recycled.h"

namespace gang {
namespace {

// The ranks that a buffer deals with: mostly one, which takes no memory of its own.
class Peers {
 public:
  void add(int peer) {
    if (count_ < few_.size())
      few_[count_++] = peer;
    else
      more_.push_back(peer);
  }

  bool empty() const noexcept { return count_ == 0; }

  template <typename Predicate>
  bool all_of(const Predicate& predicate) const {
    return std::all_of(few_.begin(), few_.begin() + count_, predicate) &&
           std::ranges::all_of(more_, predicate);
  }

 private:
  std::array<int, 2> few_{};
  std::size_t count_ = 0;  // of few_
  std::vector<int> more_;
};

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds shortest_pause(25);

// No message of a gang's has it: the first byte is neither Gloo's nor theirs.
constexpr std::uint64_t guard_slot = std::uint64_t{0x42} << 56U;

class WatchedContext final : public gloo::transport::Context,
                             public std::enable_shared_from_this<WatchedContext> {
 public:
  WatchedContext(std::shared_ptr<gloo::transport::Context> inner, std::shared_ptr<WaitWatch> watch,
                 std::function<bool()> has_note);

  std::unique_ptr<gloo::transport::Pair>& getPair(int peer) override {
    return inner_->getPair(peer);
  }
  std::unique_ptr<gloo::transport::Pair>& createPair(int peer) override {
    return inner_->createPair(peer);
  }
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data,
                                                                      size_t bytes) override;

  WaitWatch& watch() const noexcept { return *watch_; }
  const std::function<bool()>& has_note() const noexcept { return has_note_; }

  // Whether the connection is closed. For the thread of the watch.
  bool is_lost(int peer) const;

 private:
  std::shared_ptr<gloo::transport::Context> inner_;
  std::shared_ptr<WaitWatch> watch_;
  std::function<bool()> has_note_;
  // Receives of what never comes, by peer: they fail with the connection.
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> guards_;
};

// Somebody who waits. On the stack of the wait; under the watch's mutex but for `is_ended`.
struct WatchedWait {
  const WatchedContext& context;
  gloo::transport::UnboundBuffer& buffer;
  const Peers& peers;  // it deals with
  bool is_send;
  std::optional<Clock::time_point> began =
      {};  // when the watch first saw it: no clock is read here
  Clock::time_point next = {};
  bool is_due = false;
  std::atomic<bool> is_ended = false;  // by the watch

  bool is_in_vain() const {
    return !peers.empty() && peers.all_of([this](int peer) { return context.is_lost(peer); });
  }

  void end() {
    is_ended = true;
    is_send ? buffer.abortWaitSend() : buffer.abortWaitRecv();
  }
};

}  // namespace

class WaitWatch {
 public:
  void add(WatchedWait& wait) {
    const std::lock_guard lock(mutex_);
    waits_.push_back(&wait);
  }
  void remove(WatchedWait& wait) {
    const std::lock_guard lock(mutex_);
    std::erase(waits_, &wait);
  }

 private:
  using Notes = std::map<const WatchedContext*, std::function<bool()>>;

  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      pause_.wait_for(lock, stop, shortest_pause, [] { return false; });
      const Notes notes = find_due();
      if (notes.empty()) continue;
      lock.unlock();
      std::vector<const WatchedContext*> broken;
      for (const auto& [context, has_note] : notes)
        if (has_note()) broken.push_back(context);
      lock.lock();
      look_at_due(broken);
    }
  }

  Notes find_due() {
    Notes notes;
    const Clock::time_point now = Clock::now();
    for (WatchedWait* wait : waits_) {
      if (!wait->began) wait->next = *(wait->began = now) + shortest_pause;
      wait->is_due = now >= wait->next;
      if (!wait->is_due) continue;
      wait->next = now + std::max<Clock::duration>(shortest_pause, (now - *wait->began) / 4);
      notes.try_emplace(&wait->context, wait->context.has_note());
    }
    return notes;
  }

  void look_at_due(const std::vector<const WatchedContext*>& broken) {
    for (WatchedWait* wait : waits_) {
      if (!std::exchange(wait->is_due, false)) continue;
      const bool is_broken = std::ranges::find(broken, &wait->context) != broken.end();
      if (is_broken || wait->is_in_vain()) wait->end();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any pause_;
  std::vector<WatchedWait*> waits_;
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};  // first to go
};

namespace {

class WatchedBuffer final : public gloo::transport::UnboundBuffer, public Recycled<WatchedBuffer> {
 public:
  WatchedBuffer(std::shared_ptr<const WatchedContext> context,
                std::unique_ptr<gloo::transport::UnboundBuffer> inner)
      : UnboundBuffer(inner->ptr, inner->size),
        context_(std::move(context)),
        inner_(std::move(inner)) {}

  bool waitRecv(int* rank, milliseconds timeout) override {
    return watched(false, sources_, [&] { return inner_->waitRecv(rank, timeout); });
  }
  bool waitSend(int* rank, milliseconds timeout) override {
    return watched(true, destinations_, [&] { return inner_->waitSend(rank, timeout); });
  }

  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }

  void send(int destination, uint64_t slot, size_t offset, size_t bytes) override {
    destinations_.add(destination);
    inner_->send(destination, slot, offset, bytes);
  }
  void recv(int source, uint64_t slot, size_t offset, size_t bytes) override {
    sources_.add(source);
    inner_->recv(source, slot, offset, bytes);
  }
  void recv(std::vector<int> sources, uint64_t slot, size_t offset, size_t bytes) override {
    for (const int source : sources) sources_.add(source);
    inner_->recv(std::move(sources), slot, offset, bytes);
  }

 private:
  template <typename Body>
  bool watched(bool is_send, const Peers& peers, const Body& body) {
    WatchedWait wait{.context = *context_, .buffer = *inner_, .peers = peers, .is_send = is_send};
    context_->watch().add(wait);
    bool is_complete = false;
    try {
      is_complete = body();
    } catch (...) {
      context_->watch().remove(wait);
      throw;
    }
    context_->watch().remove(wait);
    if (!is_complete && wait.is_ended)
      throw gloo::IoException("Connection closed, which the wait was not told");
    return is_complete;
  }

  std::shared_ptr<const WatchedContext> context_;
  std::unique_ptr<gloo::transport::UnboundBuffer> inner_;
  Peers sources_;
  Peers destinations_;
};

WatchedContext::WatchedContext(std::shared_ptr<gloo::transport::Context> inner,
                               std::shared_ptr<WaitWatch> watch, std::function<bool()> has_note)
    : Context(inner->rank, inner->size),
      inner_(std::move(inner)),
      watch_(std::move(watch)),
      has_note_(std::move(has_note)) {
  for (int peer = 0; peer < size; ++peer) {
    guards_.push_back(inner_->createUnboundBuffer(nullptr, 0));
    if (peer != rank) guards_.back()->recv(peer, guard_slot, 0, 0);
  }
}

std::unique_ptr<gloo::transport::UnboundBuffer> WatchedContext::createUnboundBuffer(void* data,
                                                                                    size_t bytes) {
  return std::make_unique<WatchedBuffer>(shared_from_this(),
                                         inner_->createUnboundBuffer(data, bytes));
}

// A wait that is aborted before it begins looks for an error, and returns.
bool WatchedContext::is_lost(int peer) const {
  gloo::transport::UnboundBuffer& guard = *guards_[static_cast<std::size_t>(peer)];
  try {
    guard.abortWaitRecv();
    guard.waitRecv(nullptr, std::chrono::hours(24));
    return false;
  } catch (const gloo::Exception&) {
    return true;
  }
}

}  // namespace

std::shared_ptr<WaitWatch> make_wait_watch() { return std::make_shared<WaitWatch>(); }

std::shared_ptr<gloo::transport::Context> make_watched_context(
    std::shared_ptr<gloo::transport::Context> inner, std::shared_ptr<WaitWatch> watch,
    std::function<bool()> has_note) {
  return std::make_shared<WatchedContext>(std::move(inner), std::move(watch), std::move(has_note));
}

}  // namespace gang
