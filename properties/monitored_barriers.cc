#include "properties/monitored_barriers.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/error.h"
#include "properties/case_text.h"
#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

using std::chrono_literals::operator""ms;

// No two ranks come a whole number of milliseconds apart, so that none comes exactly when another's
// time is up, and may or may not count as missing.
Duration least_pause(int rank) { return std::chrono::microseconds(7 * (rank + 1)); }

// How the monitored barrier ended for a rank on which it returned.
struct Answer {
  std::optional<GangError> error;
  TimePoint time{0};
};

struct RollCallRun {
  sim::Report report;
  std::vector<std::optional<Answer>> answers;     // by rank
  std::vector<std::optional<TimePoint>> came_at;  // by rank
};

void answer_roll_call(const RollCall& roll_call, sim::SimulatedRank& rank, const Subject& subject,
                      std::optional<Answer>& answer) {
  if (rank.incarnation() > 0) return;
  const std::shared_ptr<Gang> root = subject.wrapped(rank.root());
  const Duration pause = roll_call.pauses[static_cast<std::size_t>(rank.rank())];
  const auto own = root->split({.color = rank.rank()}, {.name = "own"});
  for (int i = 0; i < roll_call.own_barriers; ++i) {
    rank.runtime().sleep_for(pause);
    own->barrier();
  }
  rank.runtime().sleep_for(pause);
  Answer given;
  try {
    root->monitored_barrier(roll_call.timeout, roll_call.report);
  } catch (const GangError& error) {
    given.error = error;
  }
  given.time = rank.runtime().now();
  answer = given;
}

bool is_roll_call(const sim::TraceEvent& event) {
  return event.call.kind == to_string(OperationKind::monitored_barrier);
}

RollCallRun run(const RollCall& roll_call, const Subject& subject) {
  sim::SimulationOptions options;
  options.world_size = roll_call.world();
  options.seed = roll_call.seed;
  options.scheduler = sim::SchedulerKind::random;
  options.trace = sim::Recording::on;
  options.pending_timeouts = sim::PendingTimeouts::fire;
  options.faults = std::make_shared<const sim::FaultPlan>(roll_call.plan);
  RollCallRun run;
  run.answers.resize(roll_call.pauses.size());
  run.came_at.resize(roll_call.pauses.size());
  run.report = subject.simulate(options, [&](sim::SimulatedRank& rank) {
    answer_roll_call(roll_call, rank, subject, run.answers[static_cast<std::size_t>(rank.rank())]);
  });
  for (const sim::TraceEvent& event : run.report.trace.events)
    if (event.kind == sim::TraceEventKind::post && is_roll_call(event))
      run.came_at[static_cast<std::size_t>(event.rank)] = event.time;
  return run;
}

// Ranks that had not come to the barrier by `time`.
std::vector<int> missing_at(const RollCallRun& run, TimePoint time) {
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < run.came_at.size(); ++rank)
    if (!run.came_at[rank] || *run.came_at[rank] > time) missing.push_back(static_cast<int>(rank));
  return missing;
}

// Ranks that a fault may have kept from being heard, although they came.
std::vector<int> unheard(const RollCallRun& run) {
  std::vector<int> ranks;
  for (const sim::FiredFault& fired : run.report.faults) {
    const sim::Fault& fault = run.report.fault_plan->faults[fired.fault];
    const bool silences = ends_rank(fault.kind) || fault.kind == sim::FaultKind::stall ||
                          fault.kind == sim::FaultKind::partition ||
                          fault.kind == sim::FaultKind::watchdog_abort;
    if (!silences) continue;
    ranks.push_back(fired.rank);
    ranks.insert(ranks.end(), fault.to.begin(), fault.to.end());
  }
  return ranks;
}

bool has_aborted(const RollCallRun& run) {
  return std::ranges::any_of(run.report.faults, [&run](const sim::FiredFault& fired) {
    return run.report.fault_plan->faults[fired.fault].kind == sim::FaultKind::watchdog_abort;
  });
}

bool is_in(const std::vector<int>& ranks, int rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}

std::string complaint_about(const RollCall& roll_call, const RollCallRun& run, int rank,
                            const Answer& answer, TimePoint broken_at, const Subject& subject) {
  if (!answer.error) {
    const std::vector<int> missing = missing_at(run, answer.time);
    if (missing.empty()) return {};
    return fmt::format("rank {} passed the barrier without ranks [{}]", rank,
                       fmt::join(missing, ","));
  }
  const GangError& error = *answer.error;
  if (error.kind() == GangErrorKind::aborted && has_aborted(run)) return {};
  const std::vector<int>& named = error.ranks_at_fault();
  const std::vector<int> missing = missing_at(run, broken_at);
  const std::string complaint = fmt::format(
      "rank {} gets {} naming ranks [{}], but [{}] are missing: {}", rank, to_string(error.kind()),
      fmt::join(named, ","), fmt::join(missing, ","), error.what());
  if (error.kind() != GangErrorKind::timeout && error.kind() != GangErrorKind::peer_failed)
    return complaint;
  const std::vector<int> silent = unheard(run);
  // A rank that was away cannot tell which others were; nor can the first to learn of an abort.
  if (!subject.times_out_together && (is_in(silent, rank) || has_aborted(run))) return {};
  const bool is_true = std::ranges::all_of(
      named, [&](int one) { return is_in(missing, one) || is_in(silent, one); });
  if (!is_true || (named.empty() && subject.times_out_together)) return complaint;
  const bool is_exact =
      error.kind() == GangErrorKind::timeout && !missing.empty() && subject.times_out_together;
  if (!is_exact) return {};
  if (roll_call.report == Gang::MissingRanks::all) return named == missing ? "" : complaint;
  return named == std::vector<int>{missing.front()} ? "" : complaint;
}

sim::Fault generate_fault(Draw& draw, int world, int own_barriers) {
  using enum sim::FaultKind;
  const auto some_time = [&draw] {
    return sim::Between<Duration>(draw.between(1, 20) * Duration(1ms) + Duration(1));
  };
  sim::Fault fault{.kind = draw.any_of(std::vector{crash, exit, exception, stall, slow, late_start,
                                                   restart, watchdog_abort, partition}),
                   .ranks = {draw.between(0, world - 1)}};
  const bool goes_on = fault.kind == stall || fault.kind == slow || fault.kind == partition;
  if (goes_on && draw.one_in(2)) fault.lasts = some_time();
  if (fault.kind == slow || fault.kind == late_start || fault.kind == restart)
    fault.delay = some_time();
  const bool is_noticed = fault.kind == crash || fault.kind == exit || fault.kind == restart;
  if (is_noticed && draw.one_in(2)) fault.notice = some_time();
  if (fault.kind == late_start) return fault;
  if (fault.kind == partition || (fault.kind != watchdog_abort && draw.one_in(3))) {
    fault.trigger.time = some_time();
    return fault;
  }
  fault.trigger.operation = static_cast<std::uint64_t>(draw.between(1, own_barriers + 1));
  fault.trigger.moment = static_cast<sim::FaultMoment>(draw.between(0, 2));
  return fault;
}

}  // namespace

RollCall generate_roll_call(Draw& draw) {
  RollCall roll_call;
  const int world = draw.world(2);
  for (int rank = 0; rank < world; ++rank)
    roll_call.pauses.push_back((draw.one_in(2) ? 0 : draw.between(0, 6)) * Duration(1ms) +
                               least_pause(rank));
  roll_call.own_barriers = draw.between(0, 3);
  roll_call.timeout = draw.between(1, 12) * Duration(1ms);
  roll_call.report = draw.one_in(3) ? Gang::MissingRanks::first : Gang::MissingRanks::all;
  roll_call.seed = draw.random();
  sim::FaultPlan plan;
  for (int left = draw.between(0, 3); left > 0; --left)
    plan.faults.push_back(generate_fault(draw, world, roll_call.own_barriers));
  roll_call.plan = sim::draw(plan, 1, world);
  return roll_call;
}

std::string to_text(const RollCall& roll_call) {
  std::vector<std::string> pauses;
  for (const Duration pause : roll_call.pauses) pauses.push_back(to_string(pause));
  std::string text = fmt::format(
      "world {}, monitored_barrier with timeout {} that names {}, after {} of their own; pauses {}",
      roll_call.world(), to_string(roll_call.timeout),
      roll_call.report == Gang::MissingRanks::all ? "all missing ranks" : "the first missing rank",
      counted(roll_call.own_barriers, "barrier"), fmt::join(pauses, ", "));
  for (const sim::Fault& fault : roll_call.plan.faults) text += "\nfault: " + to_string(fault);
  return text;
}

std::vector<RollCall> shrinks(const RollCall& roll_call) {
  SimplerCases simpler(roll_call);
  simpler.drop_each([](RollCall& one) -> auto& { return one.plan.faults; });
  for (std::size_t rank = 0; rank < roll_call.pauses.size(); ++rank)
    simpler.add([rank](RollCall& one) { one.pauses[rank] = least_pause(static_cast<int>(rank)); });
  return simpler.take();
}

Verdict judge_roll_call(const RollCall& roll_call, const Subject& subject) {
  const RollCallRun run = properties::run(roll_call, subject);
  const sim::Report& report = run.report;
  if (report.outcome != sim::Outcome::completed && report.outcome != sim::Outcome::failed)
    return Verdict::violated(fmt::format("the run ended as '{}'", to_string(report.outcome)))
        .shown_by(report);
  TimePoint broken_at = TimePoint::max();
  for (const sim::TraceEvent& event : report.trace.events)
    if (event.kind == sim::TraceEventKind::fail && is_roll_call(event))
      broken_at = std::min(broken_at, event.time);
  for (std::size_t rank = 0; rank < run.answers.size(); ++rank) {
    if (!run.answers[rank]) continue;
    const std::string complaint = complaint_about(roll_call, run, static_cast<int>(rank),
                                                  *run.answers[rank], broken_at, subject);
    if (!complaint.empty()) return Verdict::violated(complaint).shown_by(report);
  }
  return Verdict::holds();
}

}  // namespace gang::properties
