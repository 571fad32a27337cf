// Implements Gloo's abstract transport over the messages of a simulated meeting.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gloo/transport/context.h>
#include <gloo/transport/unbound_buffer.h>

#include "gang/recycled.h"
#include "sim/backends/gloo/gloo_meeting.h"
#include "sim/backends/gloo/gloo_steps.h"
#include "sim/backends/strikes.h"
#include "sim/engine/engine.h"
#include "sim/schedule/guide.h"
#include "sim/state/world.h"

namespace gang::sim {

// One member's side of a meeting. Supports unbound buffers only and refuses bound ones, which only
// algorithms that no gang uses need. A wait blocks the calling context; if it times out, it closes
// all connections of the member, as over TCP.
//
// Threads: contexts of the member's rank.
class GlooEndpoint final : public gloo::transport::Context {
 public:
  GlooEndpoint(World& world, std::shared_ptr<GlooMeeting> meeting, int member, Strikes& strikes);
  ~GlooEndpoint() override;

  std::unique_ptr<gloo::transport::Pair>& getPair(int peer) override;
  std::unique_ptr<gloo::transport::Pair>& createPair(int peer) override;
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* data,
                                                                      size_t bytes) override;

  Engine& engine() const noexcept { return world_.engine; }
  GlooMeeting& meeting() const noexcept { return *meeting_; }
  Strikes& strikes() const noexcept { return strikes_; }

  // Under the engine's Guard.
  void close_all(const std::string& reason);

 private:
  World& world_;
  std::shared_ptr<GlooMeeting> meeting_;
  Strikes& strikes_;
};

// A rank's memory from which messages are sent and into which they are received.
class GlooBuffer final : public gloo::transport::UnboundBuffer,
                         public GlooParty,
                         public AwaitedMessage,
                         public Recycled<GlooBuffer> {
 public:
  GlooBuffer(GlooEndpoint& endpoint, void* data, size_t bytes);
  ~GlooBuffer() override;

  bool waitRecv(int* rank, std::chrono::milliseconds timeout) override;
  bool waitSend(int* rank, std::chrono::milliseconds timeout) override;
  void abortWaitRecv() override { abort(receives_); }
  void abortWaitSend() override { abort(sends_); }
  void send(int destination, uint64_t slot, size_t offset, size_t bytes) override;
  void recv(int source, uint64_t slot, size_t offset, size_t bytes) override;
  void recv(std::vector<int> sources, uint64_t slot, size_t offset, size_t bytes) override;

  const GlooEndpoint& endpoint() const noexcept { return endpoint_; }

  // GlooParty
  std::byte* data() const noexcept override { return static_cast<std::byte*>(ptr); }
  void completed(GlooParty::Side side, int peer, const GlooParty& other) override;
  void failed(GlooParty::Side side, const std::string& reason) override;
  std::uint64_t step_key() const noexcept override { return step_key_; }

  // AwaitedMessage
  std::vector<int> awaited_ranks() const override;
  bool takes_any() const override;
  std::string describe() const override;
  const Collective* call() const override;
  const GangInfo* gang() const override;

 private:
  // Sends or receives of this buffer.
  struct Direction {
    int completed = 0;       // completions not yet consumed by a wait
    int last_peer = -1;      // of the last completion
    std::string error;       // set if a connection was closed
    int pending = 0;         // transfers not yet ended
    std::uint64_t slot = 0;  // of the last transfer
    bool is_aborted = false;
    Task* waiter = nullptr;
  };

  bool wait(Direction& direction, int* rank, std::chrono::milliseconds timeout);
  void abort(Direction& direction);
  void note_closed_connection();
  void wake(Direction& direction);
  GlooTransfer transfer(uint64_t slot, size_t offset, size_t bytes);
  GlooStep step_of(uint64_t slot) const;
  Guide* guide() const noexcept { return endpoint_.engine().choices().guide(); }
  Direction& direction_of(GlooParty::Side side) noexcept {
    return side == GlooParty::Side::send ? sends_ : receives_;
  }

  GlooEndpoint& endpoint_;
  Direction sends_;
  Direction receives_;
  const StepKey step_key_;
  std::optional<CallSite> open_at_;         // of its receive from any source
  const Direction* awaited_ = nullptr;      // what the rank currently waits for
  const GlooActivity* activity_ = nullptr;  // of the waiting context
};

}  // namespace gang::sim
