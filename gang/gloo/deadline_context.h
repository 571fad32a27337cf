// A Gloo transport whose waits end at one deadline.
#pragma once

#include <memory>

#include <gloo/context.h>
#include <gloo/transport/context.h>

#include "gang/collective.h"
#include "gang/runtime.h"

namespace gang {

// Wraps another transport, for the collectives of one context. Gloo's own timeouts start again with
// every wait, and its collectives continue with whatever an aborted wait has left. Here all waits
// of an operation share the operation's deadline, and an aborted wait throws. Source: Gloo's
// docs/errors.md documents what is corrected here.
//
// Threads: one operation at a time; the thread that performs it.
class DeadlineContext final : public gloo::transport::Context {
 public:
  DeadlineContext(std::shared_ptr<gloo::transport::Context> inner, const Runtime& runtime);

  // The next operation ends at `deadline` at the latest (TimePoint::max(): never).
  void begin_operation(TimePoint deadline) noexcept;

  // The peer of the wait that failed last; no_rank if it is not known.
  int awaited_rank() const noexcept { return awaited_rank_; }

  std::unique_ptr<gloo::transport::Pair>& getPair(int peer) override;
  std::unique_ptr<gloo::transport::Pair>& createPair(int peer) override;
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data,
                                                                      size_t bytes) override;

 private:
  friend class DeadlineBuffer;

  std::shared_ptr<gloo::transport::Context> inner_;
  const Runtime& runtime_;
  TimePoint deadline_ = TimePoint::max();
  int awaited_rank_ = no_rank;
};

// The timeout of a Gloo wait that ends at `deadline`, in whole milliseconds, rounded up. Zero after
// the deadline; a wait that has nothing to wait for still succeeds then.
std::chrono::milliseconds wait_limit(const Runtime& runtime, TimePoint deadline);

// A context for Gloo's collectives on a connected transport.
std::shared_ptr<gloo::Context> make_gloo_context(
    std::shared_ptr<gloo::transport::Context> transport);

}  // namespace gang
