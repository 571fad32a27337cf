#include "sim/injection/fault_injector.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "sim/engine/engine.h"
#include "sim/injection/corruption.h"
#include "sim/matching/matching.h"
#include "sim/matching/sim_gang.h"
#include "sim/verdict/failure.h"

namespace gang::sim {
namespace {

TimePoint later(TimePoint time, Duration by) {
  return by >= TimePoint::max() - time ? TimePoint::max() : time + by;
}

std::string_view verb_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::crash:
      return "crashed";
    case FaultKind::exception:
      return "met an exception";
    case FaultKind::exit:
      return "exited";
    case FaultKind::stall:
      return "stalled";
    case FaultKind::slow:
      return "was slow";
    case FaultKind::late_start:
      return "started late";
    case FaultKind::restart:
      return "crashed, to be started again,";
    case FaultKind::watchdog_abort:
      return "aborted the gang by its watchdog";
    case FaultKind::corrupt_contribution:
      return "contributed corrupt data";
    case FaultKind::corrupt_result:
      return "got a corrupt result";
    case FaultKind::late_copy:
      return "had its data read late";
    default:
      return to_string(kind);
  }
}

std::string place_of(std::string_view moment, const GangState& gang, const Collective& call) {
  return fmt::format("{} {} on {}", moment, to_string(call), gang.label());
}

// Whether a rank brings data to the operation.
bool contributes(const Operation& operation, int member) {
  const Collective& call = operation.collective;
  if (operation.input.size_bytes() == 0) return false;
  if (call.kind == OperationKind::broadcast) return call.peer == member;
  return call.kind < OperationKind::broadcast || call.kind == OperationKind::send;
}

// The memory that a rank receives data in; none for operations without.
TensorView result_of(const Operation& operation, int member) {
  const Collective& call = operation.collective;
  if (call.kind == OperationKind::reduce && call.peer != member) return {};
  if (call.kind == OperationKind::broadcast && call.peer == member) return {};
  if (call.kind == OperationKind::send || call.kind > OperationKind::recv) return {};
  if (operation.output.size_bytes() != 0) return operation.output;
  return operation.outputs.empty() ? TensorView{} : operation.outputs.front();
}

// Whether the operation leaves the rank's input as it was.
bool keeps_input(const Operation& operation, int member) {
  const Collective& call = operation.collective;
  if (call.kind == OperationKind::broadcast || call.kind == OperationKind::send) return true;
  if (call.kind == OperationKind::reduce && call.peer != member) return true;
  return operation.output.data() != operation.input.data();
}

// At a time, whatever the rank does then. An exception needs a call to leave the program by; what
// only slows a rank down, calls to slow down.
bool happens_by_itself(const Fault& fault) {
  if (!fault.trigger.time || fault.kind == FaultKind::exception) return false;
  return ends_rank(fault.kind) || (fault.kind == FaultKind::stall && !fault.lasts);
}

bool is_of_data(FaultKind kind) {
  return kind == FaultKind::corrupt_contribution || kind == FaultKind::corrupt_result ||
         kind == FaultKind::late_copy;
}

// Whether the operation has data that the fault could befall.
bool has_such_data(FaultKind kind, const Operation& operation, int member) {
  if (kind == FaultKind::late_copy)
    return !operation.collective.blocking && contributes(operation, member);
  if (kind == FaultKind::corrupt_contribution)
    return operation.collective.blocking && contributes(operation, member);
  return result_of(operation, member).size_bytes() != 0;
}

}  // namespace

FaultInjector::FaultInjector(Engine& engine, const FaultPlan& plan)
    : engine_(engine), plan_(plan), stream_(engine.options().seed, "fault injector") {
  const auto world = static_cast<std::size_t>(engine.options().world_size);
  by_rank_.resize(world);
  is_healed_.resize(world);
  for (std::size_t index = 0; index < plan.faults.size(); ++index) {
    const Fault& fault = plan.faults[index];
    for (const int rank : fault.ranks) {
      const ArmedFault armed{.fault = &fault, .index = index, .rank = rank};
      auto& own = by_rank_[static_cast<std::size_t>(rank)];
      if (is_of_link(fault.kind)) {
        links_.push_back(armed);
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
  // Where messages cross slow links, these are what is slow.
  slows_collectives_ = !links_.empty() && engine.options().backend == SimulatedBackend::sim;
  for (ArmedFault& link : links_)
    if (link.fault->lasts)
      link.ends = later(link.fault->trigger.time ? link.fault->trigger.time->least : TimePoint{0},
                        link.fault->lasts->least);
}

void FaultInjector::begin_program(Task& task) {
  RankFaults* own = of(task.rank->rank);
  if (own == nullptr) return;
  for (ArmedFault& fault : own->armed) {
    if (fault.fault->kind != FaultKind::late_start || fault.is_spent) continue;
    fault.is_spent = true;
    fire(fault, fmt::format("rank {} started {} late", fault.rank,
                            gang::to_string(fault.fault->delay->least)));
    engine_.sleep(task, fault.fault->delay->least);
  }
}

bool FaultInjector::fits(const ArmedFault& fault, const GangState& gang,
                         const Collective& call) const {
  const FaultTrigger& trigger = fault.fault->trigger;
  if (!trigger.while_rank) {
    if (trigger.during && *trigger.during != call.kind) return false;
    return trigger.gang.empty() || trigger.gang == gang.info->name;
  }
  const Wait* wait = engine_.program_of(*trigger.while_rank).wait;
  if (wait == nullptr) return false;
  if (wait->message != nullptr && wait->message->call() != nullptr) {
    if (trigger.during && *trigger.during != wait->message->call()->kind) return false;
    return trigger.gang.empty() || trigger.gang == wait->message->gang()->name;
  }
  if (wait->operations.empty()) return false;
  const PendingOperation& pending = *wait->operations.front();
  if (trigger.during && *trigger.during != pending.call().kind) return false;
  return trigger.gang.empty() || trigger.gang == pending.gang->info->name;
}

bool FaultInjector::is_due(ArmedFault& fault, const GangState& gang, const Operation& operation) {
  const FaultTrigger& trigger = fault.fault->trigger;
  const FaultKind kind = fault.fault->kind;
  if (fault.is_spent || kind == FaultKind::late_start) return false;
  if (kind == FaultKind::slow && fault.has_fired) return true;
  // NCCL's kernels read what a rank brings whenever they run: it is late as it is.
  if (kind == FaultKind::late_copy && engine_.options().backend == SimulatedBackend::nccl)
    return false;
  if (trigger.time) return engine_.now() >= trigger.time->least;
  if (!fits(fault, gang, operation.collective)) return false;
  const auto& members = gang.info->root_ranks;
  if (is_of_data(kind)) {
    const auto member = static_cast<int>(std::ranges::find(members, fault.rank) - members.begin());
    if (!has_such_data(kind, operation, member)) return false;
  }
  return is_picked(fault);
}

// Whether it is this operation or message, of those that fit.
bool FaultInjector::is_picked(ArmedFault& fault) {
  const FaultTrigger& trigger = fault.fault->trigger;
  const std::uint64_t number = fault.seen++;
  if (trigger.operation) return number == trigger.operation->least;
  if (trigger.message) return number == trigger.message->least;
  if (trigger.probability) return stream_.uniform() < *trigger.probability;
  return number == 0 || is_of_link(fault.fault->kind);
}

// How many calls are sure to pass before one that a fault may befall.
std::uint64_t FaultInjector::quiet_calls_of(const RankFaults& own) const noexcept {
  if (slows_collectives_) return 0;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const ArmedFault& fault : own.armed) {
    if (fault.is_spent || fault.fault->kind == FaultKind::late_start) continue;
    const FaultTrigger& trigger = fault.fault->trigger;
    const bool counts_every_call = trigger.operation && !trigger.time && !trigger.during &&
                                   !trigger.while_rank && trigger.gang.empty() &&
                                   !is_of_data(fault.fault->kind) && !fault.has_fired;
    if (!counts_every_call) return 0;
    if (trigger.operation->least >= fault.seen)
      least = std::min(least, trigger.operation->least - fault.seen);
  }
  return least;
}

void FaultInjector::cross_slow_links(Task& task, const GangState& gang,
                                     const Operation& operation) {
  if (is_point_to_point(operation.collective.kind)) return;  // fate_of
  for (ArmedFault& link : links_) {
    if (link.fault->kind != FaultKind::slow_link || link.rank != task.rank->rank) continue;
    if (!is_active(link) || !cuts(link, gang)) continue;
    fire(link, fmt::format("the links of rank {} were slow {}", link.rank,
                           place_of("from", gang, operation.collective)));
    engine_.sleep(task, link.fault->delay->least);
  }
}

CallFaults FaultInjector::before(Task& task, GangState& gang, const Operation& operation) {
  CallFaults faults;
  const int rank = task.rank->rank;
  if (slows_collectives_) cross_slow_links(task, gang, operation);
  RankFaults* own = of(rank);
  if (own == nullptr || own->is_stopped) return faults;
  for (ArmedFault& fault : own->armed) fault.seen += own->granted - own->quiet_calls;
  own->granted = own->quiet_calls = 0;
  for (ArmedFault& fault : own->armed)
    if (is_due(fault, gang, operation)) meet(task, fault, gang, operation, faults);
  // Nothing is brought to a gang that is broken: the rank dies before its call fails.
  if (faults.inside != nullptr && gang.broken) strike(task, *faults.inside);
  own->granted = own->quiet_calls = quiet_calls_of(*own);
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
      fire(fault, fmt::format("rank {} {} {}", fault.rank, verb_of(kind),
                              place_of("in", gang, operation.collective)));
    return;
  }
  if (kind == FaultKind::slow)
    return slow_down(task, fault, place_of("from", gang, operation.collective));
  fault.is_spent = true;
  if (faults.inside != nullptr) return;  // one is enough: the rank does not get further than that
  const FaultMoment moment = fault.fault->trigger.moment;
  // What a rank brings may not have left it when it dies inside: then it is as if it died before.
  const bool stops = ends_rank(kind) || kind == FaultKind::stall;
  const bool has_left = moment == FaultMoment::inside && stops && kind != FaultKind::exception &&
                        stream_.below(3) != 0;
  if (has_left) {
    faults.inside = &fault;
    if (fault.fault->notice) died_inside_.push_back(&fault);
    fire(fault, fmt::format("rank {} {} {}", fault.rank, verb_of(kind),
                            place_of("inside", gang, operation.collective)));
  } else if (moment == FaultMoment::after || (moment == FaultMoment::inside && !stops)) {
    faults.after = &fault;
  } else {
    const std::string where =
        place_of(moment == FaultMoment::inside ? "inside" : "before", gang, operation.collective);
    if (kind == FaultKind::watchdog_abort)
      abort_gang(fault, gang, where);
    else
      befall(task, fault, where);
  }
}

void FaultInjector::inside(PendingOperation& pending, const CallFaults& faults) {
  Task& task = *pending.task;
  if (faults.result != nullptr)
    pending.corrupted_by =
        static_cast<std::int32_t>(faults.result - of(task.rank->rank)->armed.data());
  if (faults.inside != nullptr) strike(task, *faults.inside);
}

void FaultInjector::after(PendingOperation& pending, const CallFaults& faults) {
  if (faults.after == nullptr) return;
  const std::string where = place_of("after", *pending.gang, pending.call());
  if (faults.after->fault->kind == FaultKind::watchdog_abort)
    abort_gang(*faults.after, *pending.gang, where);
  else
    befall(*pending.task, *faults.after, where);
}

void FaultInjector::abort_gang(ArmedFault& fault, GangState& gang, const std::string& where) {
  fire(fault, fmt::format("rank {} {} {}", fault.rank, verb_of(fault.fault->kind), where));
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::aborted;
  cause->reason = fmt::format("the watchdog of rank {} aborted the gang", fault.rank);
  cause->potential = finding_of(fault);
  engine_.matching().break_gang(gang, std::move(cause));
}

void FaultInjector::corrupt_result(const PendingOperation& pending) {
  RankFaults* own = of(pending.task->rank->rank);
  ArmedFault& fault = own->armed[static_cast<std::size_t>(pending.corrupted_by)];
  fire(fault, fmt::format("rank {} {} {}", fault.rank, verb_of(fault.fault->kind),
                          place_of("in", *pending.gang, pending.call())));
  corrupt(result_of(*pending.operation, pending.member), fault.fault->corruption, stream_);
}

void FaultInjector::copy_late(PendingOperation& pending, const CallFaults& faults) {
  if (faults.late == nullptr) return;
  pending.read_at = later(engine_.now(), faults.late->fault->delay->least);
  last_late_copy_ = std::max(last_late_copy_, pending.read_at);
  schedule(pending.read_at, Act::release, *faults.late);
}

void FaultInjector::send_late(const Task& task, const CallFaults& faults) {
  if (faults.late == nullptr) return;
  const TimePoint until = later(engine_.now(), faults.late->fault->delay->least);
  TimePoint& known = of(task.rank->rank)->sends_late_until;
  known = std::max(known, until);
  schedule(until, Act::release, *faults.late);
}

CorruptedContribution::CorruptedContribution(FaultInjector& injector, const Operation& operation,
                                             int member, const CallFaults& faults) {
  if (faults.contribution == nullptr) return;
  saved_ = corrupt(operation.input, faults.contribution->fault->corruption, injector.stream_);
  if (!keeps_input(operation, member)) saved_ = {};
}

CorruptedContribution::~CorruptedContribution() { saved_.restore(); }

void FaultInjector::refuse(Task& task, GangState& gang, int member, const Collective& call) {
  const int rank = task.rank->rank;
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::peer_failed;
  cause->ranks_at_fault = {member};
  cause->reason =
      fmt::format("rank {} has been started again (incarnation {}); the gang was made before that",
                  rank, task.rank->incarnation);
  for (const ArmedFault& fault : of(rank)->armed)
    if (fault.fault->kind == FaultKind::restart && fault.has_fired)
      cause->potential = finding_of(fault);
  GangFailure failure;
  failure.kind = cause->kind;
  failure.gang = gang.label();
  failure.rank = member;
  failure.operation = call;
  failure.operation.label = {};
  failure.ranks_at_fault = cause->ranks_at_fault;
  failure.reason = cause->reason;
  task.rank->told = std::move(cause);
  throw GangError(std::move(failure));
}

void FaultInjector::befall(Task& task, ArmedFault& fault, const std::string& where) {
  fire(fault, fmt::format("rank {} {} {}", fault.rank, verb_of(fault.fault->kind), where));
  strike(task, fault);
}

// What has been noted, happens.
void FaultInjector::strike(Task& task, ArmedFault& fault) {
  const FaultKind kind = fault.fault->kind;
  if (kind == FaultKind::exception)
    throw InjectedException(fmt::format("injected: {}", fired_[fault.record].description));
  if (kind == FaultKind::stall && fault.fault->lasts)
    return engine_.sleep(task, fault.fault->lasts->least);
  end_rank(*task.rank, fault);
  engine_.stay_frozen(task);
}

void FaultInjector::end_rank(RankState& rank, ArmedFault& fault) {
  engine_.freeze(rank);
  rank.frozen_as = verb_of(fault.fault->kind);
  if (fault.fault->kind == FaultKind::stall) return;
  if (fault.fault->notice)
    schedule(later(engine_.now(), fault.fault->notice->least), Act::notice, fault);
  if (fault.fault->kind == FaultKind::restart) {
    ++restarts_;
    schedule(later(engine_.now(), fault.fault->delay->least), Act::restart, fault);
  }
  rank.has_returned = true;
  if (engine_.has_root_gangs()) engine_.root_gangs().rank_died(rank.rank);
  engine_.matching().rank_gone(rank.rank);
}

void FaultInjector::slow_down(Task& task, ArmedFault& fault, const std::string& where) {
  RankFaults& own = *of(fault.rank);
  if (!fault.has_fired && fault.fault->lasts)
    fault.ends = later(engine_.now(), fault.fault->lasts->least);
  if (engine_.now() >= fault.ends) {
    fault.is_spent = true;
    own.sleep_factor = 1;
    return;
  }
  fire(fault, fmt::format("rank {} was slow {}", fault.rank, where));
  own.sleep_factor = fault.fault->factor;
  if (fault.fault->delay) engine_.sleep(task, fault.fault->delay->least);
}

Duration FaultInjector::stretched(Duration sleep, int rank) const {
  const RankFaults* own = of(rank);
  if (own == nullptr || own->sleep_factor == 1) return sleep;
  const double longer = static_cast<double>(sleep.count()) * own->sleep_factor;
  return longer >= 9e18 ? sleep : Duration(static_cast<std::int64_t>(longer));
}

void FaultInjector::fire(ArmedFault& fault, std::string description) {
  if (fault.has_fired) {
    ++fired_[fault.record].count;
    return;
  }
  fault.has_fired = true;
  fault.record = fired_.size();
  fired_.push_back({.fault = fault.index,
                    .rank = fault.rank,
                    .time = engine_.now(),
                    .description = std::move(description)});
  engine_.recorder().fault_fired(fault.rank);
  engine_.note_choice_point();
}

void FaultInjector::schedule(TimePoint time, Act act, ArmedFault& fault) {
  events_.push({time, next_event_++, act, &fault});
}

std::shared_ptr<const Finding> FaultInjector::finding_of(const ArmedFault& fault) const {
  auto finding = std::make_shared<Finding>();
  finding->id = finding_id::rank_failed;
  finding->ranks = {fault.rank};
  std::string what = fired_[fault.record].description;
  what.front() = static_cast<char>(std::toupper(what.front()));
  finding->message = what + ", as the plan of faults says.";
  return finding;
}

void FaultInjector::release_held() {
  engine_.matching().release_held();
  if (engine_.has_root_gangs()) engine_.root_gangs().release_held();
}

void FaultInjector::tell_peers(const ArmedFault& fault) {
  if (engine_.has_root_gangs()) engine_.root_gangs().rank_gone(fault.rank);
  for (const auto& gang : gangs_held_by(engine_.rank_state(fault.rank))) break_for(*gang, fault);
}

void FaultInjector::break_for(GangState& gang, const ArmedFault& fault) {
  if (gang.broken) return;
  const auto& ranks = gang.info->root_ranks;
  auto cause = std::make_shared<BreakCause>();
  cause->kind = GangErrorKind::peer_failed;
  cause->ranks_at_fault = {static_cast<int>(std::ranges::find(ranks, fault.rank) - ranks.begin())};
  cause->reason = fmt::format("rank {} is gone", fault.rank);
  cause->potential = finding_of(fault);
  engine_.matching().break_gang(gang, std::move(cause));
}

TimePoint FaultInjector::next_trigger() const {
  TimePoint next = TimePoint::max();
  for (const ArmedFault* fault : timed_)
    if (!fault->is_spent && !of(fault->rank)->is_stopped)
      next = std::min(next, fault->fault->trigger.time->least);
  return next;
}

void FaultInjector::act() {
  const TimePoint now = engine_.now();
  for (ArmedFault* fault : timed_)
    if (!fault->is_spent && !of(fault->rank)->is_stopped &&
        fault->fault->trigger.time->least <= now)
      befall_at_rest(*fault);
  while (!events_.empty() && events_.top().time <= now) {
    const Event event = events_.top();
    events_.pop();
    switch (event.act) {
      case Act::notice:
        tell_peers(*event.fault);
        break;
      case Act::restart:
        --restarts_;
        engine_.restart(event.fault->rank);
        break;
      case Act::release:
        release_held();
        break;
    }
  }
}

// Time has come for a rank that waits in something, or has ended.
void FaultInjector::befall_at_rest(ArmedFault& fault) {
  RankState& rank = engine_.rank_state(fault.rank);
  fault.is_spent = true;
  if (rank.has_returned) return;
  fire(fault, fmt::format("rank {} {} at {}", fault.rank, verb_of(fault.fault->kind),
                          gang::to_string(engine_.now())));
  end_rank(rank, fault);
}

void FaultInjector::stop(int rank) {
  is_healed_[static_cast<std::size_t>(rank)] = true;
  if (RankFaults* own = of(rank)) own->is_stopped = true;
  if (!links_.empty()) release_held();
}

std::string only_because_of(const std::vector<FiredFault>& faults) {
  constexpr std::size_t most_named = 3;
  std::string text = "only because of: ";
  for (std::size_t i = 0; i < std::min(most_named, faults.size()); ++i)
    text += (i == 0 ? "" : "; ") + faults[i].description;
  if (faults.size() > most_named)
    text += fmt::format("; and {} more faults", faults.size() - most_named);
  return text;
}

void check_injectable(const FaultPlan& plan, SimulatedBackend backend) {
  for (std::size_t i = 0; i < plan.faults.size(); ++i) {
    const FaultKind kind = plan.faults[i].kind;
    if (is_of_store(kind))
      throw FaultPlanError(
          i, "kind",
          fmt::format("{} needs a store, which simulated gangs have not; accepted: "
                      "all others, and this with compare --backend gloo",
                      to_string(kind)));
    const bool is_of_transport =
        kind == FaultKind::duplicate_message || kind == FaultKind::reorder_messages;
    if (is_of_transport && backend == SimulatedBackend::sim)
      throw FaultPlanError(i, "kind",
                           fmt::format("{} needs a transport; accepted on backend sim: all others",
                                       to_string(kind)));
  }
}

}  // namespace gang::sim
