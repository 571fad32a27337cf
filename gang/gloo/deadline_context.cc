#include "gang/gloo/deadline_context.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <gloo/common/error.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/unbound_buffer.h>

#include "gang/recycled.h"

namespace gang {

using std::chrono::milliseconds;

milliseconds wait_limit(const Runtime& runtime, TimePoint deadline) {
  constexpr milliseconds longest = std::chrono::hours(24 * 365);
  if (deadline == TimePoint::max()) return longest;
  return std::clamp(std::chrono::ceil<milliseconds>(deadline - runtime.now()), milliseconds(0),
                    longest);
}

// A buffer of another transport. Remembers its peer, so that a failure can name it.
class DeadlineBuffer final : public gloo::transport::UnboundBuffer,
                             public Recycled<DeadlineBuffer> {
 public:
  DeadlineBuffer(DeadlineContext& context, void* data, size_t bytes)
      : UnboundBuffer(data, bytes),
        context_(context),
        inner_(context.inner_->createUnboundBuffer(data, bytes)) {}

  bool waitRecv(int* rank, milliseconds) override {
    context_.awaited_rank_ = source_;
    return complete(inner_->waitRecv(rank, limit()));
  }

  bool waitSend(int* rank, milliseconds) override {
    context_.awaited_rank_ = destination_;
    return complete(inner_->waitSend(rank, limit()));
  }

  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }

  void send(int destination, uint64_t slot, size_t offset, size_t bytes) override {
    destination_ = destination_ == no_rank || destination_ == destination ? destination : several;
    context_.awaited_rank_ = destination;
    inner_->send(destination, slot, offset, bytes);
    context_.awaited_rank_ = no_rank;
  }

  void recv(int source, uint64_t slot, size_t offset, size_t bytes) override {
    source_ = source_ == no_rank || source_ == source ? source : several;
    context_.awaited_rank_ = source;
    inner_->recv(source, slot, offset, bytes);
    context_.awaited_rank_ = no_rank;
  }

  void recv(std::vector<int> sources, uint64_t slot, size_t offset, size_t bytes) override {
    source_ = several;
    inner_->recv(std::move(sources), slot, offset, bytes);
  }

 private:
  static constexpr int several = any_rank;

  milliseconds limit() const { return wait_limit(context_.runtime_, context_.deadline_); }

  bool complete(bool was_completed) {
    if (!was_completed) throw gloo::IoException("the wait was aborted");
    context_.awaited_rank_ = no_rank;
    return true;
  }

  DeadlineContext& context_;
  std::unique_ptr<gloo::transport::UnboundBuffer> inner_;
  int source_ = no_rank;
  int destination_ = no_rank;
};

DeadlineContext::DeadlineContext(std::shared_ptr<gloo::transport::Context> inner,
                                 const Runtime& runtime)
    : Context(inner->rank, inner->size), inner_(std::move(inner)), runtime_(runtime) {}

void DeadlineContext::begin_operation(TimePoint deadline) noexcept {
  deadline_ = deadline;
  awaited_rank_ = no_rank;
}

std::unique_ptr<gloo::transport::Pair>& DeadlineContext::getPair(int peer) {
  return inner_->getPair(peer);
}

std::unique_ptr<gloo::transport::Pair>& DeadlineContext::createPair(int peer) {
  return inner_->createPair(peer);
}

std::unique_ptr<gloo::transport::UnboundBuffer> DeadlineContext::createUnboundBuffer(void* data,
                                                                                     size_t bytes) {
  return std::make_unique<DeadlineBuffer>(*this, data, bytes);
}

namespace {

// Gloo makes its own contexts by a rendezvous; this one is given its transport.
class ConnectedContext final : public gloo::Context {
 public:
  explicit ConnectedContext(std::shared_ptr<gloo::transport::Context> transport)
      : Context(transport->rank, transport->size) {
    transportContext_ = std::move(transport);
  }
};

}  // namespace

std::shared_ptr<gloo::Context> make_gloo_context(
    std::shared_ptr<gloo::transport::Context> transport) {
  return std::make_shared<ConnectedContext>(std::move(transport));
}

}  // namespace gang
