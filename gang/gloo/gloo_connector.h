// How the members of a Gloo gang get connected: over TCP, or over a simulated transport.
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

// A gang to be connected. `prefix` is the same on all its members, and never another gang's.
struct GlooMembership {
  std::string prefix;
  int rank = 0;
  int size = 1;
  std::span<const int> root_ranks = {};  // of its members
  // The gang that it is made from: a watched transport, and the ranks of the new gang's members
  // there. A member whose connection there is lost will not come.
  const gloo::transport::Context* parent = nullptr;
  std::span<const int> parent_ranks = {};
};

// Some members of a gang to be connected will not come: the one with `rank` in the parent, or
// (no_rank) the unknown one that broke the parent.
class MembersLost : public std::runtime_error {
 public:
  MembersLost(int rank, const std::string& message) : std::runtime_error(message), rank_(rank) {}

  int rank() const noexcept { return rank_; }

 private:
  int rank_;
};

// The call that a thread of a rank is performing. Valid while it does.
struct GlooActivity {
  const GangInfo& gang;
  const Collective& call;
};

// Makes connected transports, and passes on why a gang broke, which a closed connection does not
// say. GlooGang knows nothing else about what it runs on. Threads: any.
class GlooConnector {
 public:
  virtual ~GlooConnector() = default;

  // A transport connected to all other members; blocks until they have come. Throws StoreError, or
  // what Gloo throws, if they have not come within `timeout`; MembersLost if they never will. Not
  // called for a size of 1.
  virtual std::shared_ptr<gloo::transport::Context> connect(const GlooMembership& membership,
                                                            Duration timeout) = 0;

  // The transport that members use in place of a `transport` of this connector: the same one, or a
  // wrapper that notices what it would not.
  virtual std::shared_ptr<gloo::transport::Context> watched(
      std::shared_ptr<gloo::transport::Context> transport, const std::string& /*prefix*/) {
    return transport;
  }

  // Closes all connections of a transport of this connector: what is pending on them fails, on both
  // sides. `transport` may be a watched one.
  virtual void close(gloo::transport::Context& transport) noexcept = 0;

  // Leaves a note for the other members of a gang, unless there is one already (the first counts)
  // or it is impossible. Does not wait for other members.
  virtual void leave_note(const std::string& prefix, std::string_view text) noexcept = 0;

  // The note that a member has left; none if there is none, or if it cannot be read.
  virtual std::optional<std::string> find_note(const std::string& prefix) noexcept = 0;

  // The calling thread is about to wait for messages of this call; null: it no longer is.
  virtual void note_activity(const GlooActivity* /*activity*/) noexcept {}
};

}  // namespace gang
