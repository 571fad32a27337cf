// What a fault plan may do to the calls of a run.
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

// Which faults happen to one call, once its moment comes. On the caller's stack.
struct CallFaults {
  ArmedFault* inside = nullptr;
  ArmedFault* after = nullptr;
  ArmedFault* contribution = nullptr;
  ArmedFault* result = nullptr;
  ArmedFault* late = nullptr;  // its copy; started operations only
};

// What becomes of a message or a collective that crosses a link.
struct LinkFate {
  enum class Kind : std::uint8_t { passes, is_held, is_lost };
  Kind kind = Kind::passes;
  TimePoint until{0};  // is_held: TimePoint::max(): forever
  ArmedFault* fault = nullptr;
};

// A message on its way between two ranks of the root gang.
struct Crossing {
  int from = 0;
  int to = 0;
  std::size_t bytes = 0;  // 0: nothing to corrupt
};

// While it lives, a blocking call contributes other data than its rank computed.
class Contribution {
 public:
  virtual ~Contribution() = default;
};

// What a fault plan may do to data on its way between ranks. Called under the engine's Guard.
class LinkInterference {
 public:
  virtual ~LinkInterference() = default;

  // Before a started operation is posted: its data may be read late.
  virtual void copy_late(PendingOperation& pending, const CallFaults& faults) = 0;

  // The same where operations are messages: what the rank sends is read late for so long.
  virtual void send_late(const Task& task, const CallFaults& faults) = 0;

  // The fate of a send that is about to be matched.
  virtual LinkFate fate_of(const PendingOperation& send) = 0;

  // The same for a message of `call` over a transport that delivers bytes once and in order (TCP):
  // a duplicate is not seen, and an overtaken message comes later.
  virtual LinkFate fate_of(const Crossing& crossing, const Collective& call) = 0;

  // Changes a message whose fate is a corrupt_message.
  virtual void corrupt_message(const TensorView& payload, const ArmedFault& fault) = 0;

  // Whether a partition, or a late copy, keeps a collective of `gang`, which all members have
  // called, from completing.
  virtual bool holds(const GangState& gang) = 0;

  // The members of `gang` that a partition cuts off, on the side that the plan names, and those
  // whose copy is late.
  virtual std::vector<int> cut_off(const GangState& gang) const = 0;

  // Those present (by member) that the others cannot reach: never all.
  virtual std::vector<int> unreachable(const GangState& gang,
                                       std::span<Task* const> present) const = 0;
};

// The seam between the operations of a run and its fault plan; asked only where there is a plan.
// Called under the engine's Guard.
class Interference {
 public:
  virtual ~Interference() = default;

  // Whether no fault can happen to this call of the rank, so that none of the functions below need
  // be asked about it. Counts the call if so.
  bool passes_unharmed(int rank) noexcept {
    std::uint64_t& quiet = quiet_calls_[static_cast<std::size_t>(rank)];
    if (quiet == 0) return false;
    if (quiet != always_quiet) --quiet;
    return true;
  }

  // A call of the rank: may block, throw, or never return. What happens to the call later is in
  // the result.
  virtual CallFaults before(Task& task, GangState& gang, const Operation& operation) = 0;

  // Null where the call contributes what its rank computed.
  virtual std::unique_ptr<Contribution> corrupt_contribution(const Operation& operation, int member,
                                                             const CallFaults& faults) = 0;

  // The call has been posted. May not return.
  virtual void inside(PendingOperation& pending, const CallFaults& faults) = 0;

  // It has completed, and the rank is about to go on. May not return.
  virtual void after(PendingOperation& pending, const CallFaults& faults) = 0;

  // A restarted rank calls something on a gang that does not know its incarnation: throws GangError
  // peer_failed.
  [[noreturn]] virtual void refuse(Task& task, GangState& gang, int member,
                                   const Collective& call) = 0;

  // Changes the result of a completed operation with `corrupted_by`.
  virtual void corrupt_result(const PendingOperation& pending) = 0;

  // Whether a rank has died in an operation that may complete for some and not for others.
  virtual bool may_leave_untold() const noexcept = 0;

  // The members of a collective in which a rank died that do not learn that it completed:
  // `break_for_dead` tells them of the death. They are in `members` as well.
  virtual std::vector<PendingOperation*> untold(std::span<PendingOperation* const> members) = 0;
  virtual void break_for_dead(GangState& gang, std::span<PendingOperation* const> members) = 0;

  // How long a sleep of the rank takes.
  virtual Duration stretched(Duration sleep, int rank) const = 0;

  virtual bool have_fired() const noexcept = 0;

  virtual LinkInterference& links() noexcept = 0;

 protected:
  static constexpr std::uint64_t always_quiet = ~std::uint64_t{0};
  std::vector<std::uint64_t> quiet_calls_;  // by rank: so many calls pass unharmed from now on
};

}  // namespace gang::sim
