#include "sim/injection/fault_injector.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/engine/engine.h"
#include "sim/injection/corruption.h"
#include "sim/injection/fault_record.h"
#include "sim/matching/foreign_gangs.h"
#include "sim/matching/matching.h"
#include "sim/matching/sim_gang.h"
#include "sim/recording/trace_recorder.h"
#include "sim/schedule/guide.h"
#include "sim/state/world.h"

namespace gang::sim {
namespace {

std::string place_of(std::string_view moment, const GangState& gang, const Collective& call) {
  return fmt::format("{} {} on {}", moment, to_string(call), gang.label());
}

// Restores the data if the operation leaves it unchanged.
class CorruptedContribution final : public Contribution {
 public:
  explicit CorruptedContribution(const SavedBytes& saved) noexcept : saved_(saved) {}
  ~CorruptedContribution() override { saved_.restore(); }
  CorruptedContribution(const CorruptedContribution&) = delete;
  CorruptedContribution& operator=(const CorruptedContribution&) = delete;

 private:
  SavedBytes saved_;
};

// Whether its rank may end or stop in an operation once it has sent its contribution.
bool may_leave_inside(const Fault& fault) noexcept {
  const bool stops = ends_rank(fault.kind) || fault.kind == FaultKind::stall;
  return stops && fault.kind != FaultKind::exception && fault.trigger.moment == FaultMoment::inside;
}

}  // namespace

FaultInjector::FaultInjector(World& world, const FaultPlan& plan,
                             std::function<void(int)> restart_rank)
    : world_(world),
      plan_(plan),
      restart_rank_(std::move(restart_rank)),
      record_(world),
      links_(world, record_) {
  const auto world_size = static_cast<std::size_t>(world.options.world_size);
  by_rank_.resize(world_size);
  for (std::size_t index = 0; index < plan.faults.size(); ++index) {
    const Fault& fault = plan.faults[index];
    may_die_inside_ |= fault.notice && may_leave_inside(fault);
    for (const int rank : fault.ranks) {
      const ArmedFault armed{.fault = &fault, .index = index, .rank = rank};
      auto& own = by_rank_[static_cast<std::size_t>(rank)];
      if (is_of_link(fault.kind)) {
        links_.add(armed);
        continue;
      }
      if (!own) own = std::make_unique<RankFaults>();
      own->armed.push_back(armed);
    }
  }
  for (const auto& own : by_rank_)
    if (own)
      for (ArmedFault& fault : own->armed)
        if (happens_by_itself(*fault.fault)) timed_.push_back(&fault);
  quiet_calls_.assign(world_size, links_.slows_collectives() ? 0 : always_quiet);
  for (std::size_t rank = 0; rank < world_size; ++rank)
    if (by_rank_[rank]) quiet_calls_[rank] = 0;
}

void FaultInjector::begin_program(Task& task) {
  RankFaults* own = of(task.rank->rank);
  if (own == nullptr) return;
  for (ArmedFault& fault : own->armed) {
    if (fault.fault->kind != FaultKind::late_start || fault.is_spent) continue;
    fault.is_spent = true;
    record_.fire(fault, fmt::format("rank {} started {} late", fault.rank,
                                    gang::to_string(fault.fault->delay->least)));
    sleep_in(world_.engine, fault.fault->delay->least);
  }
}

CallFaults FaultInjector::before(Task& task, GangState& gang, const Operation& operation) {
  CallFaults faults;
  const int rank = task.rank->rank;
  links_.cross_slow_links(task, gang, operation);
  RankFaults* own = of(rank);
  if (own == nullptr || own->is_stopped) return faults;
  std::uint64_t& quiet = quiet_calls_[static_cast<std::size_t>(rank)];
  for (ArmedFault& fault : own->armed) fault.seen += own->granted - quiet;
  own->granted = quiet = 0;
  for (ArmedFault& fault : own->armed)
    if (is_due(world_, record_, fault, gang, operation)) meet(task, fault, gang, operation, faults);
  // A broken gang accepts no contribution: the rank dies before its call fails.
  if (faults.inside != nullptr && gang.broken) strike(task, *faults.inside);
  own->granted = quiet = links_.slows_collectives() ? 0 : quiet_calls_of(own->armed);
  return faults;
}

void FaultInjector::meet(Task& task, ArmedFault& fault, GangState& gang, const Operation& operation,
                         CallFaults& faults) {
  const FaultKind kind = fault.fault->kind;
  if (is_of_data(kind)) {
    fault.is_spent = !fault.fault->trigger.probability;
    (kind == FaultKind::corrupt_result ? faults.result
     : kind == FaultKind::late_copy    ? faults.late
                                       : faults.contribution) = &fault;
    if (kind != FaultKind::corrupt_result)
      record_.fire(fault, fmt::format("rank {} {}", fault.rank, verb_of(kind)),
                   place_of("in", gang, operation.collective));
    return;
  }
  if (kind == FaultKind::slow)
    return slow_down(fault, place_of("from", gang, operation.collective));
  fault.is_spent = true;
  if (faults.inside != nullptr) return;  // the rank gets no further than this fault
  const FaultMoment moment = fault.fault->trigger.moment;
  // A rank that dies inside may not have sent its contribution; if so, it is as if it had died
  // before.
  const bool stops = ends_rank(kind) || kind == FaultKind::stall;
  const bool has_left =
      may_leave_inside(*fault.fault) && (fault.fault->error_at || record_.stream().below(3) != 0);
  if (has_left) {
    faults.inside = &fault;
    if (fault.fault->notice) died_inside_.push_back(&fault);
    record_.fire(fault, fmt::format("rank {} {}", fault.rank, verb_of(kind)),
                 place_of("inside", gang, operation.collective));
  } else if (moment == FaultMoment::after || (moment == FaultMoment::inside && !stops)) {
    faults.after = &fault;
  } else {
    const std::string where =
        place_of(moment == FaultMoment::inside ? "inside" : "before", gang, operation.collective);
    if (kind == FaultKind::watchdog_abort)
      abort_gang(fault, gang, where);
    else
      fire_and_strike(task, fault, where);
  }
}

void FaultInjector::inside(PendingOperation& pending, const CallFaults& faults) {
  Task& task = *pending.task;
  if (faults.result != nullptr)
    pending.make_extras().faults.corrupted_by =
        static_cast<std::int32_t>(faults.result - of(task.rank->rank)->armed.data());
  if (faults.inside != nullptr) strike(task, *faults.inside);
}

void FaultInjector::after(PendingOperation& pending, const CallFaults& faults) {
  if (faults.after == nullptr) return;
  // In explored schedules, what follows is a step of its own, whether the operation had to be
  // waited for or not.
  if (world_.engine.choices().looks_at_once()) world_.engine.scheduling_point();
  world_.engine.check_running();
  const std::string where = place_of("after", *pending.gang, pending.call());
  if (faults.after->fault->kind == FaultKind::watchdog_abort)
    abort_gang(*faults.after, *pending.gang, where);
  else
    fire_and_strike(*pending.task, *faults.after, where);
}

void FaultInjector::abort_gang(ArmedFault& fault, GangState& gang, const std::string& where) {
  record_.fire(fault, fmt::format("rank {} {}", fault.rank, verb_of(fault.fault->kind)), where);
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::aborted;
  cause->reason = fmt::format("the watchdog of rank {} aborted the gang", fault.rank);
  cause->finding_if_fatal = record_.finding_of(fault);
  world_.matching.break_gang(gang, std::move(cause));
}

void FaultInjector::corrupt_result(const PendingOperation& pending) {
  RankFaults* own = of(pending.task->rank->rank);
  ArmedFault& fault = own->armed[static_cast<std::size_t>(pending.faults().corrupted_by)];
  record_.fire(fault, fmt::format("rank {} {}", fault.rank, verb_of(fault.fault->kind)),
               place_of("in", *pending.gang, pending.call()));
  corrupt(result_of(*pending.operation, pending.member), fault.fault->corruption, record_.stream());
}

std::unique_ptr<Contribution> FaultInjector::corrupt_contribution(const Operation& operation,
                                                                  int member,
                                                                  const CallFaults& faults) {
  if (faults.contribution == nullptr) return nullptr;
  const SavedBytes saved =
      corrupt(operation.input, faults.contribution->fault->corruption, record_.stream());
  if (!keeps_input(operation, member)) return nullptr;
  return std::make_unique<CorruptedContribution>(saved);
}

void FaultInjector::refuse(Task& task, GangState& gang, int member, const Collective& call) {
  const int rank = task.rank->rank;
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::peer_failed;
  cause->ranks_at_fault = {member};
  cause->reason =
      fmt::format("rank {} was restarted (incarnation {}); the gang was made before that", rank,
                  task.rank->incarnation);
  for (const ArmedFault& fault : of(rank)->armed)
    if (fault.fault->kind == FaultKind::restart && fault.has_fired)
      cause->finding_if_fatal = record_.finding_of(fault);
  GangFailure failure;
  failure.kind = cause->kind;
  failure.gang = gang.label();
  failure.rank = member;
  failure.operation = call;
  failure.operation.label = {};
  failure.ranks_at_fault = cause->ranks_at_fault;
  failure.reason = cause->reason;
  task.rank->make_rare().last_failure = std::move(cause);
  throw GangError(std::move(failure), *gang.info);
}

void FaultInjector::fire_and_strike(Task& task, ArmedFault& fault, const std::string& where) {
  record_.fire(fault, fmt::format("rank {} {}", fault.rank, verb_of(fault.fault->kind)), where);
  strike(task, fault);
}

void FaultInjector::strike(Task& task, ArmedFault& fault) {
  const FaultKind kind = fault.fault->kind;
  if (kind == FaultKind::exception)
    throw InjectedException(fmt::format("injected: {}", record_.fired()[fault.record].description));
  if (kind == FaultKind::stall && fault.fault->lasts)
    return sleep_in(world_.engine, fault.fault->lasts->least);
  end_rank(*task.rank, fault);
  world_.engine.ends().stay_frozen(task);
}

void FaultInjector::end_rank(RankState& rank, ArmedFault& fault) {
  world_.engine.freeze(rank);
  rank.make_rare().frozen_as = verb_of(fault.fault->kind);
  if (fault.fault->kind == FaultKind::stall) return;
  if (fault.fault->notice)
    record_.schedule(deadline_after(world_.engine.now(), fault.fault->notice->least),
                     FaultAct::notice, fault);
  if (fault.fault->kind == FaultKind::restart) {
    ++restarts_;
    record_.schedule(deadline_after(world_.engine.now(), fault.fault->delay->least),
                     FaultAct::restart, fault);
  }
  rank.has_returned = true;
  // What the others do without it comes after this.
  if (Guide* guide = world_.engine.choices().guide())
    guide->publish(guide->end_of(static_cast<TaskId>(rank.rank)));
  if (world_.foreign_gangs != nullptr) world_.foreign_gangs->rank_died(rank.rank);
  world_.matching.rank_gone(rank.rank);
}

void FaultInjector::slow_down(ArmedFault& fault, const std::string& where) {
  RankFaults& own = *of(fault.rank);
  if (!fault.has_fired && fault.fault->lasts)
    fault.ends = deadline_after(world_.engine.now(), fault.fault->lasts->least);
  if (world_.engine.now() >= fault.ends) {
    fault.is_spent = true;
    own.sleep_factor = 1;
    return;
  }
  record_.fire(fault, fmt::format("rank {} was slow", fault.rank), where);
  own.sleep_factor = fault.fault->factor;
  if (fault.fault->delay) sleep_in(world_.engine, fault.fault->delay->least);
}

Duration FaultInjector::stretched(Duration sleep, int rank) const {
  const RankFaults* own = of(rank);
  if (own == nullptr || own->sleep_factor == 1) return sleep;
  const double longer = static_cast<double>(sleep.count()) * own->sleep_factor;
  return longer >= 9e18 ? sleep : Duration(static_cast<std::int64_t>(longer));
}

void FaultInjector::release_held() {
  world_.matching.release_held();
  if (world_.foreign_gangs != nullptr) world_.foreign_gangs->release_held();
}

void FaultInjector::tell_peers(const ArmedFault& fault) {
  if (world_.foreign_gangs != nullptr) world_.foreign_gangs->rank_gone(fault.rank);
  for (const auto& gang : gangs_held_by(world_.rank(fault.rank)))
    break_for(*gang, fault, Breaks::between_calls);
}

void FaultInjector::break_for(GangState& gang, const ArmedFault& fault, Breaks when) {
  if (gang.broken) return;
  const auto& ranks = gang.info->root_ranks;
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::peer_failed;
  cause->ranks_at_fault = {static_cast<int>(std::ranges::find(ranks, fault.rank) - ranks.begin())};
  cause->reason = fmt::format("rank {} is gone", fault.rank);
  cause->finding_if_fatal = record_.finding_of(fault);
  world_.matching.break_gang(gang, std::move(cause), when);
}

TimePoint FaultInjector::next_trigger() const {
  TimePoint next = TimePoint::max();
  for (const ArmedFault* fault : timed_)
    if (!fault->is_spent && !of(fault->rank)->is_stopped)
      next = std::min(next, fault->fault->trigger.time->least);
  return next;
}

void FaultInjector::act() {
  const TimePoint now = world_.engine.now();
  for (ArmedFault* fault : timed_)
    if (!fault->is_spent && !of(fault->rank)->is_stopped &&
        fault->fault->trigger.time->least <= now)
      strike_at_rest(*fault);
  while (const std::optional<FaultEvent> event = record_.take_due(now)) {
    switch (event->act) {
      case FaultAct::notice:
        tell_peers(*event->fault);
        break;
      case FaultAct::restart:
        --restarts_;
        restart_rank_(event->fault->rank);
        break;
      case FaultAct::release:
        release_held();
        break;
    }
  }
}

// Time has passed for a rank that is waiting or has ended.
void FaultInjector::strike_at_rest(ArmedFault& fault) {
  RankState& rank = world_.rank(fault.rank);
  fault.is_spent = true;
  if (rank.has_returned) return;
  record_.fire(fault, fmt::format("rank {} {}", fault.rank, verb_of(fault.fault->kind)),
               "at " + gang::to_string(world_.engine.now()));
  end_rank(rank, fault);
}

void FaultInjector::stop(int rank) {
  links_.heal(rank);
  if (RankFaults* own = of(rank)) own->is_stopped = true;
  if (!links_.empty()) release_held();
}

std::vector<PendingOperation*> FaultInjector::untold(std::span<PendingOperation* const> members) {
  std::vector<int> ranks;
  for (const PendingOperation* member : members) ranks.push_back(member->task->rank->rank);
  const auto is_dead = [this](int rank) {
    return std::ranges::any_of(died_inside_,
                               [rank](const ArmedFault* dead) { return dead->rank == rank; });
  };
  const ArmedFault* planned = nullptr;
  for (const ArmedFault* dead : died_inside_) {
    if (std::ranges::find(ranks, dead->rank) == ranks.end()) continue;
    record_.note_witnesses(*dead, ranks);
    if (dead->fault->error_at) planned = dead;
  }
  if (planned == nullptr &&
      (std::ranges::none_of(ranks, is_dead) || record_.stream().below(2) == 0))
    return {};
  std::vector<PendingOperation*> untold;
  for (std::size_t member = 0; member < ranks.size(); ++member) {
    if (is_dead(ranks[member])) continue;
    const bool gets_error = planned != nullptr
                                ? std::ranges::find(*planned->fault->error_at, ranks[member]) !=
                                      planned->fault->error_at->end()
                                : record_.stream().below(2) == 0;
    if (gets_error) untold.push_back(members[member]);
  }
  return untold;
}

void FaultInjector::break_for_dead(GangState& gang, std::span<PendingOperation* const> members) {
  for (const ArmedFault* dead : died_inside_)
    for (const PendingOperation* member : members)
      if (dead->rank == member->task->rank->rank)
        return break_for(gang, *dead, Breaks::after_all_calls);
}

}  // namespace gang::sim
