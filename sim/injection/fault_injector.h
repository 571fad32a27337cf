// Makes the faults of a plan happen in a simulated run, at the level of operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <vector>

#include "gang/error.h"
#include "sim/faults/fault_plan.h"
#include "sim/injection/corruption.h"
#include "sim/report/report.h"
#include "sim/schedule/random_stream.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

class Engine;
enum class SimulatedBackend : std::uint8_t;

// What leaves the program of a rank that meets FaultKind::exception.
class InjectedException : public Error {
 public:
  using Error::Error;
};

// One fault of a plan and one of its victims; of a link, its source.
struct ArmedFault {
  const Fault* fault = nullptr;
  std::size_t index = 0;   // in the plan
  int rank = 0;            // root rank
  std::uint64_t seen = 0;  // operations or messages that fitted so far
  bool has_fired = false;
  bool is_spent = false;              // nothing more will come of it
  TimePoint ends = TimePoint::max();  // of one that goes on for a while
  std::size_t record = 0;             // where in the report it is noted
};

// Which faults befall one call, once its moment comes. On the caller's stack.
struct CallFaults {
  ArmedFault* inside = nullptr;
  ArmedFault* after = nullptr;
  ArmedFault* contribution = nullptr;
  ArmedFault* result = nullptr;
  ArmedFault* late = nullptr;  // of a started operation: its copy
};

// What becomes of a message or a collective that crosses a link.
struct LinkFate {
  enum class Kind : std::uint8_t { passes, is_held, is_lost };
  Kind kind = Kind::passes;
  TimePoint until{0};  // is_held: TimePoint::max(): for ever
  ArmedFault* fault = nullptr;
};

// The faults of one run. Called under the engine's Guard. Random choices come from a stream of
// their own, so that faults that do not fire change nothing.
class FaultInjector {
 public:
  // `plan` has been drawn for the world of `engine`; NotSupported kinds have been refused.
  FaultInjector(Engine& engine, const FaultPlan& plan);

  // The program of `task`'s rank is about to begin: it may have to wait.
  void begin_program(Task& task);

  // Whether nothing of the plan can befall this call of the rank, so that none of the functions
  // below need be asked about it. Counts the call if so.
  bool passes_unharmed(int rank) noexcept {
    RankFaults* own = of(rank);
    if (own == nullptr) return !slows_collectives_;
    if (own->quiet_calls == 0) return false;
    --own->quiet_calls;
    return true;
  }

  // A call of the rank: may block, throw, or never return. Whatever befalls the call later is in
  // the result.
  CallFaults before(Task& task, GangState& gang, const Operation& operation);

  // It has been posted. May not return.
  void inside(PendingOperation& pending, const CallFaults& faults);

  // It has completed, and the rank is about to go on. May not return.
  void after(PendingOperation& pending, const CallFaults& faults);

  // An incarnation that the gang does not know calls something of it: throws GangError peer_failed.
  [[noreturn]] void refuse(Task& task, GangState& gang, int member, const Collective& call);

  // Before a started operation is posted: it may be read late.
  void copy_late(PendingOperation& pending, const CallFaults& faults);

  // The same where operations are messages: what the rank sends is read late for so long.
  void send_late(const Task& task, const CallFaults& faults);

  // Changes the result of a completed operation with `corrupted_by`.
  void corrupt_result(const PendingOperation& pending);

  // Of a send that is about to be matched.
  LinkFate fate_of(const PendingOperation& send);

  // The same of a message of `call`, over a transport that delivers bytes once and in order (TCP):
  // a duplicate is not seen, and an overtaken message comes later.
  struct Crossing {
    int from = 0;  // root ranks
    int to = 0;
    std::size_t bytes = 0;  // without any, there is nothing to corrupt
  };
  LinkFate fate_of(const Crossing& crossing, const Collective& call);

  // Changes a message that has a fate of corrupt_message.
  void corrupt_message(const TensorView& payload, const ArmedFault& fault);

  // Whether a partition, or a late copy, keeps a collective of `gang`, whose members have all come,
  // from completing.
  bool holds(const GangState& gang);

  // The members of `gang` that a partition cuts off, on the side that the plan names, and those
  // whose copy is late.
  std::vector<int> cut_off(const GangState& gang) const;

  // Of those that are present, by member, whom the others cannot reach: never all.
  std::vector<int> unreachable(const GangState& gang, std::span<Task* const> present) const;

  // Whether a rank has died in an operation that may complete for some and not for others.
  bool may_leave_untold() const noexcept { return !died_inside_.empty(); }

  // The members that are not told that their collective has completed: a rank died in it, and
  // `break_for_dead` is to tell them. They are in `members` as well.
  std::vector<PendingOperation*> untold(std::span<PendingOperation* const> members);
  void break_for_dead(GangState& gang, std::span<PendingOperation* const> members);

  // How long a sleep of the rank takes.
  Duration stretched(Duration sleep, int rank) const;

  // The earliest time at which something happens by itself: for which time passes, though nobody
  // sleeps (`events`), or which it does not pass by (`triggers`). TimePoint::max(): nothing.
  TimePoint next_event() const { return events_.empty() ? TimePoint::max() : events_.top().time; }
  TimePoint next_trigger() const;

  // Lets everything happen that is due now.
  void act();

  // No further fault befalls the rank, nor any link of it.
  void stop(int rank);

  bool have_fired() const noexcept { return !fired_.empty(); }
  const std::vector<FiredFault>& fired() const noexcept { return fired_; }

  // Whether a rank is still to be started again.
  bool will_restart() const noexcept { return restarts_ > 0; }

 private:
  friend class CorruptedContribution;
  enum class Act : std::uint8_t { notice, restart, release };
  struct Event {
    TimePoint time;
    std::uint64_t order;
    Act act;
    ArmedFault* fault;
    bool operator<(const Event& other) const noexcept {  // a heap keeps the largest in front
      return time != other.time ? time > other.time : order > other.order;
    }
  };
  struct RankFaults {
    std::vector<ArmedFault> armed;
    double sleep_factor = 1;
    TimePoint sends_late_until{0};
    bool is_stopped = false;
    // The next so many calls count for each of `armed`, and none befalls them; of `granted`.
    std::uint64_t quiet_calls = 0;
    std::uint64_t granted = 0;
  };

  RankFaults* of(int rank) const noexcept { return by_rank_[static_cast<std::size_t>(rank)].get(); }
  bool fits(const ArmedFault& fault, const GangState& gang, const Collective& call) const;
  bool is_due(ArmedFault& fault, const GangState& gang, const Operation& operation);
  bool is_picked(ArmedFault& fault);
  std::uint64_t quiet_calls_of(const RankFaults& own) const noexcept;
  void cross_slow_links(Task& task, const GangState& gang, const Operation& operation);
  void meet(Task& task, ArmedFault& fault, GangState& gang, const Operation& operation,
            CallFaults& faults);
  void befall(Task& task, ArmedFault& fault, const std::string& where);
  void strike(Task& task, ArmedFault& fault);
  void befall_at_rest(ArmedFault& fault);
  void abort_gang(ArmedFault& fault, GangState& gang, const std::string& where);
  void end_rank(RankState& rank, ArmedFault& fault);
  void slow_down(Task& task, ArmedFault& fault, const std::string& where);
  void fire(ArmedFault& fault, std::string description);
  void schedule(TimePoint time, Act act, ArmedFault& fault);
  void release_held();
  void tell_peers(const ArmedFault& fault);
  void break_for(GangState& gang, const ArmedFault& fault);
  std::shared_ptr<const Finding> finding_of(const ArmedFault& fault) const;
  bool is_active(const ArmedFault& link) const;
  bool crosses(const ArmedFault& link, int from, int to) const;
  bool copies_late(const PendingOperation* member) const;
  bool cuts(const ArmedFault& link, const GangState& gang) const;
  LinkFate fate_on_links(const Crossing& crossing, const Collective& call);
  LinkFate fate_on(ArmedFault& link, const Crossing& crossing, const Collective& call);

  Engine& engine_;
  const FaultPlan& plan_;
  RandomStream stream_;
  std::vector<std::unique_ptr<RankFaults>> by_rank_;  // null: nothing befalls it
  std::vector<ArmedFault> links_;                     // one per fault and source
  bool slows_collectives_ = false;                    // as wholes: no messages cross slow links
  std::vector<ArmedFault*> timed_;                    // that happen by themselves, at a time
  std::vector<bool> is_healed_;                       // by rank: its links work again
  std::vector<const ArmedFault*> died_inside_;        // and their peers will be told
  std::priority_queue<Event> events_;
  std::uint64_t next_event_ = 0;
  int restarts_ = 0;
  TimePoint last_late_copy_{0};
  std::vector<FiredFault> fired_;
};

// While it lives, a blocking call brings other data than its rank computed, where a fault says so.
class CorruptedContribution {
 public:
  CorruptedContribution(FaultInjector& injector, const Operation& operation, int member,
                        const CallFaults& faults);
  // Puts the data back where the operation leaves it alone.
  ~CorruptedContribution();
  CorruptedContribution(const CorruptedContribution&) = delete;
  CorruptedContribution& operator=(const CorruptedContribution&) = delete;

 private:
  SavedBytes saved_;
};

// "only because of: rank 3 crashed before ...": in which runs a finding is to be expected.
std::string only_because_of(const std::vector<FiredFault>& faults);

// Throws FaultPlanError for faults of what such a simulation has not: stores, and, where an
// operation is one step, messages that a transport would put right.
void check_injectable(const FaultPlan& plan, SimulatedBackend backend);

}  // namespace gang::sim
