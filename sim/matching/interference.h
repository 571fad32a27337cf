// How a fault plan may affect the calls of a run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gang/duration.h"
#include "gang/tensor_view.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

struct ArmedFault;

// The faults that affect one call, once their moment comes. On the caller's stack.
struct CallFaults {
  ArmedFault* inside = nullptr;
  ArmedFault* after = nullptr;
  ArmedFault* contribution = nullptr;
  ArmedFault* result = nullptr;
  ArmedFault* late = nullptr;  // late copy; started operations only
};

// The fate of a message or a collective that crosses a link.
struct LinkFate {
  enum class Kind : std::uint8_t { passes, is_held, is_lost };
  Kind kind = Kind::passes;
  TimePoint until{0};  // for is_held; TimePoint::max() means forever
  ArmedFault* fault = nullptr;
};

// A message on its way between two ranks of the root gang.
struct Crossing {
  int from = 0;
  int to = 0;
  std::size_t bytes = 0;  // 0 means nothing to corrupt
};

// While alive, makes a blocking call contribute data other than what its rank computed.
class Contribution {
 public:
  virtual ~Contribution() = default;
};

// How a fault plan may affect data on its way between ranks. Called under the engine's Guard.
class LinkInterference {
 public:
  virtual ~LinkInterference() = default;

  // Called before a started operation is posted: its data may be read late.
  virtual void copy_late(PendingOperation& pending, const CallFaults& faults) = 0;

  // The same where operations are messages: the rank's outgoing data is read late by the fault's
  // delay.
  virtual void send_late(const Task& task, const CallFaults& faults) = 0;

  // The fate of a send about to be matched.
  virtual LinkFate fate_of(const PendingOperation& send) = 0;

  // The same for a message of `call` over a transport that delivers bytes once and in order (TCP):
  // duplicates are invisible, and an overtaken message arrives later.
  virtual LinkFate fate_of(const Crossing& crossing, const Collective& call) = 0;

  // Corrupts a message whose fate is corrupt_message.
  virtual void corrupt_message(const Elements& payload, const ArmedFault& fault) = 0;

  // Whether a partition or a late copy keeps a collective of `gang` from completing although all
  // members have called it.
  virtual bool holds(const GangState& gang) = 0;

  // The members of `gang` that a partition cuts off, on the side that the plan names, and those
  // whose copy is late.
  virtual std::vector<int> cut_off(const GangState& gang) const = 0;

  // Those present (by member) that the others cannot reach: never all.
  virtual std::vector<int> unreachable(const GangState& gang,
                                       std::span<Task* const> present) const = 0;
};

// Of ranks in an operation that may then complete for only some members: peers learn of it later.
enum class DeathsInside : std::uint8_t { none, planned, happened };

// The seam between the operations of a run and its fault plan; used only if there is a plan. Called
// under the engine's Guard.
class Interference {
 public:
  virtual ~Interference() = default;

  // Whether no fault can affect this call of the rank, so that callers can skip the functions
  // below. Counts the call if so.
  bool passes_unharmed(int rank) noexcept {
    std::uint64_t& quiet = quiet_calls_[static_cast<std::size_t>(rank)];
    if (quiet == 0) return false;
    if (quiet != always_quiet) --quiet;
    return true;
  }

  // The rank makes a call. May block, throw, or never return. The result lists the faults that
  // affect the call later.
  virtual CallFaults before(Task& task, GangState& gang, const Operation& operation) = 0;

  // Null if the call contributes what its rank computed.
  virtual std::unique_ptr<Contribution> corrupt_contribution(const Operation& operation, int member,
                                                             const CallFaults& faults) = 0;

  // The call has been posted. May not return.
  virtual void inside(PendingOperation& pending, const CallFaults& faults) = 0;

  // The call has completed, and the rank is about to continue. May not return.
  virtual void after(PendingOperation& pending, const CallFaults& faults) = 0;

  // A restarted rank makes a call on a gang that does not know its incarnation: throws GangError
  // peer_failed.
  [[noreturn]] virtual void refuse(Task& task, GangState& gang, int member,
                                   const Collective& call) = 0;

  // Changes the result of a completed operation with `corrupted_by`.
  virtual void corrupt_result(const PendingOperation& pending) = 0;

  virtual DeathsInside deaths_inside() const noexcept = 0;

  // The members of a collective in which a rank died that do not learn of its completion:
  // `break_for_dead` reports the death to them. `members` includes them.
  virtual std::vector<PendingOperation*> untold(std::span<PendingOperation* const> members) = 0;
  virtual void break_for_dead(GangState& gang, std::span<PendingOperation* const> members) = 0;

  // How long a sleep of the rank takes.
  virtual Duration stretched(Duration sleep, int rank) const = 0;

  virtual bool have_fired() const noexcept = 0;

  virtual LinkInterference& links() noexcept = 0;

 protected:
  static constexpr std::uint64_t always_quiet = ~std::uint64_t{0};
  std::vector<std::uint64_t> quiet_calls_;  // by rank: coming calls that pass unharmed
};

}  // namespace gang::sim
