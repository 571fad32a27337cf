// Makes the faults of a plan happen in a simulated run, at the level of operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gang/error.h"
#include "sim/faults/fault_plan.h"
#include "sim/injection/link_faults.h"
#include "sim/matching/interference.h"
#include "sim/report/report.h"
#include "sim/schedule/random_stream.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

struct World;

// The exception that leaves the program of a rank hit by FaultKind::exception.
class InjectedException : public Error {
 public:
  using Error::Error;
};

// The faults of one run. Random choices use a separate stream, so faults that do not fire change
// nothing.
class FaultInjector final : public Interference {
 public:
  // `plan` has been drawn for `world`; NotSupported kinds have been refused. `restart_rank`
  // restarts the program of a rank.
  FaultInjector(World& world, const FaultPlan& plan, std::function<void(int)> restart_rank);

  // The program of `task`'s rank is about to begin; it may have to wait.
  void begin_program(Task& task);

  CallFaults before(Task& task, GangState& gang, const Operation& operation) override;
  std::unique_ptr<Contribution> corrupt_contribution(const Operation& operation, int member,
                                                     const CallFaults& faults) override;
  void inside(PendingOperation& pending, const CallFaults& faults) override;
  void after(PendingOperation& pending, const CallFaults& faults) override;
  [[noreturn]] void refuse(Task& task, GangState& gang, int member,
                           const Collective& call) override;
  void corrupt_result(const PendingOperation& pending) override;
  DeathsInside deaths_inside() const noexcept override {
    if (!died_inside_.empty()) return DeathsInside::happened;
    return may_die_inside_ ? DeathsInside::planned : DeathsInside::none;
  }
  std::vector<PendingOperation*> untold(std::span<PendingOperation* const> members) override;
  void break_for_dead(GangState& gang, std::span<PendingOperation* const> members) override;
  Duration stretched(Duration sleep, int rank) const override;
  bool have_fired() const noexcept override { return record_.have_fired(); }
  LinkInterference& links() noexcept override { return links_; }

  // The earliest time at which something happens by itself: either time passes for it though no
  // context sleeps (`events`), or time only does not pass beyond it (`triggers`). TimePoint::max()
  // if there is none.
  TimePoint next_event() const { return record_.next_event(); }
  TimePoint next_trigger() const;

  // Carries out everything that is due now.
  void act();

  // No further faults affect the rank or its links.
  void stop(int rank);

  const std::vector<FiredFault>& fired() const noexcept { return record_.fired(); }

  // Whether a rank has yet to be restarted.
  bool will_restart() const noexcept { return restarts_ > 0; }

 private:
  struct RankFaults {
    std::vector<ArmedFault> armed;
    double sleep_factor = 1;
    bool is_stopped = false;
    std::uint64_t granted = 0;  // quiet calls; they count for each of `armed`
  };

  RankFaults* of(int rank) const noexcept { return by_rank_[static_cast<std::size_t>(rank)].get(); }
  void meet(Task& task, ArmedFault& fault, GangState& gang, const Operation& operation,
            CallFaults& faults);
  void fire_and_strike(Task& task, ArmedFault& fault, const std::string& where);
  void strike(Task& task, ArmedFault& fault);
  void strike_at_rest(ArmedFault& fault);
  void abort_gang(ArmedFault& fault, GangState& gang, const std::string& where);
  void end_rank(RankState& rank, ArmedFault& fault);
  void slow_down(ArmedFault& fault, const std::string& where);
  void release_held();
  void tell_peers(const ArmedFault& fault);
  void break_for(GangState& gang, const ArmedFault& fault, Breaks when);

  World& world_;
  const FaultPlan& plan_;
  std::function<void(int)> restart_rank_;
  FaultRecord record_;
  LinkFaults links_;
  std::vector<std::unique_ptr<RankFaults>> by_rank_;  // null: no faults
  std::vector<ArmedFault*> timed_;                    // triggered by time alone
  bool may_die_inside_ = false;                       // some rank, as planned
  std::vector<const ArmedFault*> died_inside_;        // peers learn of these later
  int restarts_ = 0;
};

}  // namespace gang::sim
