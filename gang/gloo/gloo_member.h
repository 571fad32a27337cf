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

// What all Gloo gangs of a rank share.
struct GlooWorld {
  std::shared_ptr<CompletionBoard> board;
  std::shared_ptr<GlooConnector> connector;
  std::shared_ptr<GlooWatchdog> watchdog = nullptr;  // null: gangs break one by one

  Runtime& runtime() const noexcept { return board->runtime(); }
};

// An operation on its way: what it is, and from when until when.
struct GlooCall {
  const Collective& collective;
  TimePoint began;
  TimePoint deadline;
};

// What Gloo says went wrong, without the place in its sources that it begins with.
std::string without_place(const std::string& text);

// The first error breaks the gang: its cause is kept for every later call, told to the others
// through the connector, and all connections are closed, so that they learn at once.
//
// Threads: any; `collectives` by one at a time.
class GlooMember {
 public:
  // `transport`: null where the gang has one member.
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

  // Runs `body`, which uses `collectives`, until the deadline of `call`. Whatever Gloo throws
  // breaks the gang and becomes a GangError.
  void communicate(const GlooCall& call, const std::function<void()>& body);

  // The same for a `body` that uses `transport` itself and deals with `peer` (no_rank: unknown),
  // whether or not the gang is broken already.
  void exchange(const GlooCall& call, int peer, const std::function<void()>& body);

  // Throws GangError if the gang is broken.
  void require_intact(const GlooCall& call) const;

  // Breaks the gang, unless it is broken already, and throws the first cause.
  [[noreturn]] void fail(const GlooCall& call, GangCause cause);

  // The same for an `error` of Gloo's from dealing with `peer`.
  [[noreturn]] void fail_lost(const GlooCall& call, int peer, const std::string& error);

  // Why another member has broken the gang; none where nobody has said so.
  std::optional<GangCause> noted_cause() const;

  // Breaks the gang: whatever is under way fails.
  void break_with(GangCause cause);
  bool is_broken() const;
  bool is_broken(const std::unique_lock<RuntimeMutex>& board_lock) const;

  // This side goes: what is under way fails, and nobody is told why. Connections are reset if
  // something is (`is_busy`), else what was sent last still arrives.
  void close(bool is_busy) noexcept;

  // Lets go of the connections, after close, when nothing is under way.
  void disconnect() noexcept;

  // A receive that no connection in particular will end: break_with aborts it.
  void add_open_receive(gloo::transport::UnboundBuffer& buffer);
  void remove_open_receive(gloo::transport::UnboundBuffer& buffer);

 private:
  std::optional<std::string> error_of(const GlooCall& call, const std::function<void()>& body);
  GangCause diagnose(const GlooCall& call, int peer, const std::string& error) const;
  bool set_cause(GangCause& cause);
  [[noreturn]] void throw_broken(const GlooCall& call) const;

  std::shared_ptr<const GangInfo> info_;
  int rank_;
  std::string prefix_;
  GlooWorld world_;
  std::shared_ptr<gloo::transport::Context> transport_;
  std::shared_ptr<DeadlineContext> deadlines_;
  std::shared_ptr<gloo::Context> context_;
  std::unique_ptr<GlooCollectives> collectives_;
  std::optional<GangCause> cause_;  // under the board's lock, as what follows
  std::vector<gloo::transport::UnboundBuffer*> open_receives_;
};

}  // namespace gang
