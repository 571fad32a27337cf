// A Gloo transport whose waits end at one deadline.
#pragma once

#include <memory>

#include <gloo/context.h>
#include <gloo/transport/context.h>

#include "gang/collective.h"
#include "gang/runtime.h"

namespace gang {

// Stands before another transport, for the collectives of one context. Gloo's own timeouts count
// anew with every wait, and its collectives go on with what a wait that was aborted has left: here
// all waits of an operation share the operation's deadline, and an aborted one throws.
// Source: what it corrects is documented in Gloo's docs/errors.md.
//
// Threads: one operation at a time; the thread that performs it.
class DeadlineContext final : public gloo::transport::Context {
 public:
  DeadlineContext(std::shared_ptr<gloo::transport::Context> inner, const Runtime& runtime);

  // The next operation ends at `deadline` at the latest (TimePoint::max(): never).
  void begin_operation(TimePoint deadline) noexcept;

  // Whom the wait that failed last was for; no_rank if that is not known.
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

// What is left until `deadline` for a wait of Gloo's, in whole milliseconds, rounded up. Zero after
// it: a wait that has nothing to wait for still succeeds then.
std::chrono::milliseconds wait_limit(const Runtime& runtime, TimePoint deadline);

// A context for Gloo's collectives on a transport that is connected.
std::shared_ptr<gloo::Context> make_gloo_context(
    std::shared_ptr<gloo::transport::Context> transport);

}  // namespace gang
