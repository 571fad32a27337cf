// How the members of a Gloo gang come to be connected: over TCP, or over a simulated transport.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <gloo/transport/context.h>

#include "gang/collective.h"
#include "gang/duration.h"
#include "gang/gang.h"

namespace gang {

// A gang that is to be connected. `prefix` is the same on all its members and no other gang's,
// ever.
struct GlooMembership {
  std::string prefix;
  int rank = 0;
  int size = 1;
  std::span<const int> root_ranks = {};  // of its members
  // What it is made from: a watched transport, and the ranks there of the new gang's members. Who
  // is lost there will not come.
  const gloo::transport::Context* parent = nullptr;
  std::span<const int> parent_ranks = {};
};

// Some that are to be connected will not come: `rank` of the parent, or (no_rank) whoever has
// broken it.
class MembersLost : public std::runtime_error {
 public:
  MembersLost(int rank, const std::string& message) : std::runtime_error(message), rank_(rank) {}

  int rank() const noexcept { return rank_; }

 private:
  int rank_;
};

// What a thread of a rank does for a call of its program. Valid while it does it.
struct GlooActivity {
  const GangInfo& gang;
  const Collective& call;
};

// Makes connected transports, and passes on why a gang has broken: a closed connection does not
// say. GlooGang knows nothing else about what it runs on.
// Threads: any.
class GlooConnector {
 public:
  virtual ~GlooConnector() = default;

  // A transport connected to all other members; blocks until they have come. Throws StoreError, or
  // what Gloo throws, where they have not within `timeout`; MembersLost where they will not. Never
  // called for a size of 1.
  virtual std::shared_ptr<gloo::transport::Context> connect(const GlooMembership& membership,
                                                            Duration timeout) = 0;

  // What members use of a transport of this connector's: the same, or one that stands before it and
  // notices what `transport` would not.
  virtual std::shared_ptr<gloo::transport::Context> watched(
      std::shared_ptr<gloo::transport::Context> transport, const std::string& /*prefix*/) {
    return transport;
  }

  // Closes all connections of a transport of this connector's: what is pending on them fails, on
  // this side and on the other. `transport` may be a watched one.
  virtual void close(gloo::transport::Context& transport) noexcept = 0;

  // Leaves a note for the other members of a gang, unless there is one (the first counts); none is
  // left if that is impossible. Does not wait for anyone.
  virtual void leave_note(const std::string& prefix, std::string_view text) noexcept = 0;

  // The note that some member has left.
  virtual std::optional<std::string> find_note(const std::string& prefix) noexcept = 0;

  // The calling thread is about to wait for messages of this call; null: no longer.
  virtual void note_activity(const GlooActivity* /*activity*/) noexcept {}
};

}  // namespace gang
