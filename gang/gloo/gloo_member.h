// One rank's side of a Gloo gang: its connections, and what broke them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gloo/context.h>
#include <gloo/transport/context.h>
#include <gloo/transport/unbound_buffer.h>

#include "gang/ending_work.h"
#include "gang/error.h"
#include "gang/gang.h"
#include "gang/gang_cause.h"
#include "gang/gloo/deadline_context.h"
#include "gang/gloo/gloo_collectives.h"
#include "gang/gloo/gloo_connector.h"
#include "gang/gloo/gloo_watchdog.h"

namespace gang {

// Shared by all Gloo gangs of a rank.
struct GlooWorld {
  std::shared_ptr<CompletionBoard> board;
  std::shared_ptr<GlooConnector> connector;
  std::shared_ptr<GlooWatchdog> watchdog = nullptr;  // null: gangs break one by one

  Runtime& runtime() const noexcept { return board->runtime(); }
};

// An operation under way, and the time it may take.
struct GlooCall {
  const Collective& collective;
  TimePoint began;
  TimePoint deadline;
};

// Gloo's message `text` without the place in its sources with which it begins.
std::string without_source_location(const std::string& text);

// The first error breaks the gang: its cause is kept for every later call and passed to the other
// members through the connector, and all connections are closed, so that they learn of it at once.
//
// Threads: any; `collectives` by one thread at a time.
class GlooMember {
 public:
  // `transport` is null if the gang has one member.
  GlooMember(std::shared_ptr<const GangInfo> info, int rank, std::string prefix, GlooWorld world,
             std::shared_ptr<gloo::transport::Context> transport);
  ~GlooMember();
  GlooMember(const GlooMember&) = delete;
  GlooMember& operator=(const GlooMember&) = delete;

  const std::shared_ptr<const GangInfo>& info() const noexcept { return info_; }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return info_->size; }
  const std::string& prefix() const noexcept { return prefix_; }
  const GlooWorld& world() const noexcept { return world_; }
  Runtime& runtime() const noexcept { return world_.runtime(); }

  // For gangs of at least two members.
  GlooCollectives& collectives() noexcept { return *collectives_; }
  gloo::transport::Context& transport() noexcept { return *transport_; }

  // Runs `body`, which uses `collectives`, until the deadline of `call`. What Gloo throws breaks
  // the gang and becomes a GangError.
  void communicate(const GlooCall& call, const std::function<void()>& body);

  // The same for a `body` that uses `transport` and communicates with `peer` (no_rank: unknown),
  // whether or not the gang is already broken.
  void exchange(const GlooCall& call, int peer, const std::function<void()>& body);

  // Throws GangError if the gang is broken.
  void require_intact(const GlooCall& call) const;

  // Breaks the gang, unless it is already broken, and throws the first cause.
  [[noreturn]] void fail(const GlooCall& call, GangCause cause);

  // The same for an `error` of Gloo's while communicating with `peer`.
  [[noreturn]] void fail_lost(const GlooCall& call, int peer, const std::string& error);

  // Why another member broke the gang; none if no member has said so.
  std::optional<GangCause> noted_cause() const;

  // Breaks the gang: everything under way fails.
  void break_with(GangCause cause);
  bool is_broken() const;
  bool is_broken(const std::unique_lock<RuntimeMutex>& board_lock) const;

  // This side leaves: what is under way fails, and the other members are not told why. Connections
  // are reset if anything is under way (`is_busy`); otherwise what was sent last still arrives.
  void close(bool is_busy) noexcept;

  // Releases the connections, after close, when nothing is under way.
  void disconnect() noexcept;

  // A receive that no particular connection will end: break_with aborts it.
  void add_open_receive(gloo::transport::UnboundBuffer& buffer);
  void remove_open_receive(gloo::transport::UnboundBuffer& buffer);

 private:
  std::optional<std::string> error_of(const GlooCall& call, const std::function<void()>& body);
  GangCause diagnose(const GlooCall& call, int peer, const std::string& error) const;
  bool set_cause(GangCause& cause);
  void abort_open_receives();
  [[noreturn]] void throw_broken(const GlooCall& call) const;

  std::shared_ptr<const GangInfo> info_;
  int rank_;
  std::string prefix_;
  GlooWorld world_;
  std::shared_ptr<gloo::transport::Context> transport_;
  std::shared_ptr<DeadlineContext> deadlines_;
  std::shared_ptr<gloo::Context> context_;
  std::unique_ptr<GlooCollectives> collectives_;
  std::optional<GangCause> cause_;  // under the board's lock, like open_receives_
  std::vector<gloo::transport::UnboundBuffer*> open_receives_;
};

}  // namespace gang
