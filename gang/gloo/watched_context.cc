#include "gang/gloo/watched_context.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include <gloo/common/error.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/unbound_buffer.h>

#include "gang/collective.h"
#include "gang/recycled.h"

namespace gang {
namespace {

// The ranks that a buffer communicates with: mostly one, which needs no allocation.
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

using std::chrono::milliseconds;

// No message of a gang has this slot: the first byte is used neither by Gloo nor by gangs.
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
  const std::shared_ptr<const WatchedGang>& gang() const noexcept { return gang_; }

  // Whether the connection is closed. For the thread of the watch.
  bool is_lost(int peer) const;

 private:
  std::shared_ptr<gloo::transport::Context> inner_;
  std::shared_ptr<WaitWatch> watch_;
  std::shared_ptr<const WatchedGang> gang_;
  // Receives of messages that never come, by peer; they fail when the connection does.
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> guards_;
};

// A wait for messages, on the stack of the waiting thread.
class MessageWait final : public WatchedWait {
 public:
  MessageWait(const WatchedContext& context, gloo::transport::UnboundBuffer& buffer,
              const Peers& peers, bool is_send, bool& was_ended)
      : WatchedWait(context.gang()),
        context_(context),
        buffer_(buffer),
        peers_(peers),
        is_send_(is_send),
        was_ended_(was_ended) {
    context.watch().add(*this);
  }
  ~MessageWait() override { context_.watch().remove(*this); }

 private:
  bool is_in_vain() const override {
    return !peers_.empty() && peers_.all_of([this](int peer) { return context_.is_lost(peer); });
  }

  void end() override {
    was_ended_ = true;
    is_send_ ? buffer_.abortWaitSend() : buffer_.abortWaitRecv();
  }

  const WatchedContext& context_;
  gloo::transport::UnboundBuffer& buffer_;
  const Peers& peers_;
  bool is_send_;
  bool& was_ended_;
};

class WatchedBuffer final : public gloo::transport::UnboundBuffer, public Recycled<WatchedBuffer> {
 public:
  WatchedBuffer(std::shared_ptr<const WatchedContext> context,
                std::unique_ptr<gloo::transport::UnboundBuffer> inner)
      : UnboundBuffer(inner->ptr, inner->size),
        context_(std::move(context)),
        inner_(std::move(inner)) {}

  bool waitRecv(int* rank, milliseconds timeout) override {
    return watched(false, sources_, timeout,
                   [this, rank](milliseconds limit) { return inner_->waitRecv(rank, limit); });
  }
  bool waitSend(int* rank, milliseconds timeout) override {
    return watched(true, destinations_, timeout,
                   [this, rank](milliseconds limit) { return inner_->waitSend(rank, limit); });
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
  // `wait_for(timeout)` waits as the inner buffer does.
  template <typename WaitFor>
  bool watched(bool is_send, const Peers& peers, milliseconds timeout, const WaitFor& wait_for) {
    bool was_ended = false;
    bool is_complete = false;
    {
      const MessageWait wait(*context_, *inner_, peers, is_send, was_ended);
      is_complete = wait_for(timeout);
    }
    if (!was_ended) return is_complete;
    if (!is_complete) throw gloo::IoException("Connection closed without ending the wait");
    forget_end(wait_for);
    return true;
  }

  // The end came too late; the next wait would mistake it for its own.
  template <typename WaitFor>
  static void forget_end(const WaitFor& wait_for) noexcept {
    try {
      wait_for(milliseconds(0));
    } catch (const std::exception&) {
      // The next wait will fail too.
    }
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
      gang_(std::make_shared<WatchedGang>(std::move(has_note))) {
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

// A wait that is aborted before it begins only checks for an error and returns.
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

std::shared_ptr<gloo::transport::Context> make_watched_context(
    std::shared_ptr<gloo::transport::Context> inner, std::shared_ptr<WaitWatch> watch,
    std::function<bool()> has_note) {
  return std::make_shared<WatchedContext>(std::move(inner), std::move(watch), std::move(has_note));
}

class WatchedMeeting final : public WatchedWait {
 public:
  WatchedMeeting(const WatchedContext& parent, std::span<const int> ranks,
                 std::function<void(int)> give_up)
      : WatchedWait(parent.gang()),
        parent_(parent),
        ranks_(ranks.begin(), ranks.end()),
        give_up_(std::move(give_up)) {
    parent.watch().add(*this);
  }
  ~WatchedMeeting() override { parent_.watch().remove(*this); }

 private:
  std::optional<int> lost() const {
    const auto is_lost = [this](int rank) { return rank != parent_.rank && parent_.is_lost(rank); };
    const auto found = std::ranges::find_if(ranks_, is_lost);
    return found != ranks_.end() ? std::optional(*found) : std::nullopt;
  }

  bool is_in_vain() const override { return lost().has_value(); }
  void end() override { give_up_(lost().value_or(no_rank)); }

  const WatchedContext& parent_;
  std::vector<int> ranks_;
  std::function<void(int)> give_up_;
};

std::shared_ptr<WatchedMeeting> watch_meeting(const gloo::transport::Context& parent,
                                              std::span<const int> ranks,
                                              std::function<void(int)> give_up) {
  return std::make_shared<WatchedMeeting>(dynamic_cast<const WatchedContext&>(parent), ranks,
                                          std::move(give_up));
}

}  // namespace gang
