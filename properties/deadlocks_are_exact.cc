#include "properties/deadlocks_are_exact.h"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/program_run.h"
#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

bool leaves_out(const MissingCall& missing, int rank, int step) {
  return missing.is_missing && rank == missing.rank % missing.program.world &&
         step == missing.step % static_cast<int>(missing.program.steps.size());
}

// Steps through a program: a rank advances past a barrier once all members wait there.
class HandRun {
 public:
  explicit HandRun(const MissingCall& missing)
      : missing_(missing),
        members_(members_of(missing.program)),
        next_step_(static_cast<std::size_t>(missing.program.world), 0) {}

  std::vector<int> run() {
    while (complete_one()) {
    }
    std::vector<int> blocked;
    for (int rank = 0; rank < missing_.program.world; ++rank) blocked.push_back(waits_at(rank));
    return blocked;
  }

 private:
  // The step at which `rank` waits, past those that it takes no part in.
  int waits_at(int rank) {
    int& step = next_step_[static_cast<std::size_t>(rank)];
    const int count = static_cast<int>(missing_.program.steps.size());
    while (step < count && (leaves_out(missing_, rank, step) || !gang_of(rank, step))) ++step;
    return step < count ? step : no_step;
  }

  const std::vector<int>* gang_of(int rank, int step) const {
    return find_gang(members_[node_of(step)], rank);
  }

  std::size_t node_of(int step) const {
    return static_cast<std::size_t>(missing_.program.steps[static_cast<std::size_t>(step)].node);
  }

  // Completes one barrier whose members all wait on the same gang; false if there is none.
  bool complete_one() {
    for (int rank = 0; rank < missing_.program.world; ++rank) {
      const int step = waits_at(rank);
      if (step == no_step) continue;
      const std::vector<int>& gang = *gang_of(rank, step);
      const bool is_complete = std::ranges::all_of(gang, [&](int member) {
        const int other = waits_at(member);
        return other != no_step && node_of(other) == node_of(step) &&
               gang_of(member, other) == &gang;
      });
      if (!is_complete) continue;
      for (const int member : gang) ++next_step_[static_cast<std::size_t>(member)];
      return true;
    }
    return false;
  }

  const MissingCall& missing_;
  Membership members_;
  std::vector<int> next_step_;
};

// What a rank does before each of its steps.
using BeforeStep = std::function<void(sim::SimulatedRank&)>;

sim::Report run_missing(const MissingCall& missing, const sim::SimulationOptions& options,
                        const Subject& subject, const BeforeStep& before_step) {
  const GangProgram& program = missing.program;
  return subject.simulate(options, [&](sim::SimulatedRank& rank) {
    const auto gangs = make_gangs(program, rank.root(), subject);
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      if (before_step) before_step(rank);
      const auto& gang = gangs[static_cast<std::size_t>(program.steps[i].node)];
      if (!gang || leaves_out(missing, rank.rank(), static_cast<int>(i))) continue;
      if (program.steps[i].form == Form::blocking)
        gang->barrier();
      else
        gang->start_barrier().wait();
    }
  });
}

sim::Report run_missing(const MissingCall& missing, const Subject& subject) {
  return run_missing(missing, options_of(missing.program), subject, {});
}

std::vector<int> ranks_that_block(const std::vector<int>& blocked_at) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < blocked_at.size(); ++rank)
    if (blocked_at[rank] != no_step) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

// The ranks that `rank` waits for: the members of its gang that do not wait on that gang.
std::vector<int> expected_waits(const MissingCall& missing, const std::vector<int>& blocked_at,
                                int rank) {
  const Membership members = members_of(missing.program);
  const auto node_at = [&](int who) {
    const int step = blocked_at[static_cast<std::size_t>(who)];
    return step == no_step ? -1 : missing.program.steps[static_cast<std::size_t>(step)].node;
  };
  std::vector<int> waits;
  std::ranges::copy_if(*find_gang(members[static_cast<std::size_t>(node_at(rank))], rank),
                       std::back_inserter(waits),
                       [&](int member) { return node_at(member) != node_at(rank); });
  std::ranges::sort(waits);
  return waits;
}

std::vector<int> blocked_ranks(const sim::Report& report) {
  std::vector<int> ranks;
  for (const sim::BlockedCall& blocked : report.blocked) ranks.push_back(blocked.rank);
  return ranks;
}

std::string check_blocked(const MissingCall& missing, const sim::Report& report,
                          const std::vector<int>& blocked_at) {
  const std::vector<int> reported = blocked_ranks(report);
  const std::vector<int> expected = ranks_that_block(blocked_at);
  if (reported != expected)
    return fmt::format("ranks [{}] are reported as blocked, expected [{}]",
                       fmt::join(reported, ","), fmt::join(expected, ","));
  for (const sim::BlockedCall& blocked : report.blocked) {
    std::vector<int> waits = expected_waits(missing, blocked_at, blocked.rank);
    if (waits.size() > 16) waits.resize(16);
    if (blocked.waits_for != waits)
      return fmt::format("rank {} is reported to wait for [{}], expected [{}]", blocked.rank,
                         fmt::join(blocked.waits_for, ","), fmt::join(waits, ","));
  }
  return {};
}

Verdict verdict_of(const MissingCall& missing, const sim::Report& report) {
  const std::vector<int> blocked_at = blocked_steps(missing);
  const bool must_block = !ranks_that_block(blocked_at).empty();
  const sim::Outcome expected = must_block ? sim::Outcome::deadlock : sim::Outcome::completed;
  if (report.outcome != expected)
    return Verdict::violated(fmt::format("the run ended as '{}', expected '{}'",
                                         to_string(report.outcome), to_string(expected)));
  if (!must_block && !report.findings.empty())
    return Verdict::violated("a correct program has finding " + report.findings.front().id);
  if (must_block && report.findings.size() != 1)
    return Verdict::violated(
        fmt::format("a deadlock has {} findings, expected one", report.findings.size()));
  return Verdict::holds_unless(check_blocked(missing, report, blocked_at));
}

Verdict judge_blocked(const MissingCall& missing, const Subject& subject) {
  const sim::Report report = run_missing(missing, subject);
  return verdict_of(missing, report).shown_by(report);
}

// Every rank looks for deadlocks before each of its steps; the ranks it finds must stay blocked.
Verdict judge_early(const MissingCall& missing, const Subject& subject) {
  std::set<int> found;
  const sim::Report report = run_missing(
      missing, options_of(missing.program), subject, [&found](sim::SimulatedRank& rank) {
        for (const sim::BlockedCall& blocked : rank.examine().blocked) found.insert(blocked.rank);
      });
  const std::vector<int> blocked = blocked_ranks(report);
  for (const int rank : found) {
    if (std::ranges::binary_search(blocked, rank)) continue;
    return Verdict::violated(fmt::format(
        "rank {} was found deadlocked while others ran, but at the end [{}] are blocked", rank,
        fmt::join(blocked, ",")));
  }
  return Verdict::holds();
}

// A deadlock reported for every schedule must happen in random ones.
Verdict judge_certainty(const MissingCall& missing, const Subject& subject) {
  sim::SimulationOptions options = options_of(missing.program);
  options.scheduler = sim::SchedulerKind::round_robin;
  const sim::Report certain = run_missing(missing, options, subject, {});
  if (!certain.certainty || certain.certainty->schedules != sim::Schedules::every)
    return Verdict::holds();
  options.scheduler = sim::SchedulerKind::random;
  for (int i = 0; i < 3; ++i) {
    ++options.seed;
    const sim::Report other = run_missing(missing, options, subject, {});
    if (blocked_ranks(other) == blocked_ranks(certain) && !other.findings.empty() &&
        other.findings.front().id == certain.findings.front().id)
      continue;
    return Verdict::violated(fmt::format(
        "a deadlock in 'every schedule' blocks ranks [{}], but random schedule {} blocks [{}]",
        fmt::join(blocked_ranks(certain), ","), options.seed,
        fmt::join(blocked_ranks(other), ",")));
  }
  return Verdict::holds();
}

using JudgeMissingCall = Verdict (*)(const MissingCall&, const Subject&);

constexpr LawRow<JudgeMissingCall> missing_call_laws[] = {
    {"a_missing_call_blocks_only_its_dependants",
     "The blocked ranks, and the ranks they wait for, are those that stepping through gives.",
     judge_blocked},
    {"what_is_dead_stays_dead",
     "A rank that is found deadlocked while others run is blocked at the end.", judge_early},
    {"a_certain_deadlock_is_in_every_schedule",
     "A deadlock reported for every schedule happens in random ones.", judge_certainty},
};

}  // namespace

std::vector<int> blocked_steps(const MissingCall& missing) { return HandRun(missing).run(); }

MissingCall generate_missing_call(Draw& draw) {
  MissingCall missing;
  missing.program = generate_program(
      draw, {.most_gangs = 4, .most_steps = 10, .kinds = {OperationKind::barrier}});
  missing.program.run.execution = sim::ExecutionModel::independent;
  missing.rank = draw.between(0, missing.program.world - 1);
  missing.step = draw.between(0, static_cast<int>(missing.program.steps.size()) - 1);
  missing.is_missing = !draw.one_in(4);
  return missing;
}

std::string to_text(const MissingCall& missing) {
  const std::string program = to_text(missing.program);
  if (!missing.is_missing) return program + "\nno call is left out";
  return fmt::format("{}\nrank {} leaves out step {}", program,
                     missing.rank % missing.program.world,
                     missing.step % static_cast<int>(missing.program.steps.size()));
}

std::vector<MissingCall> shrinks(const MissingCall& missing) {
  SimplerCases simpler(missing);
  for (const GangProgram& program : shrinks(missing.program))
    simpler.add([&](MissingCall& one) { one.program = program; });
  for (int rank = 0; rank < missing.rank; ++rank) simpler.lower(&MissingCall::rank, rank);
  for (int step = 0; step < missing.step; ++step) simpler.lower(&MissingCall::step, step);
  return simpler.take();
}

std::vector<Property> deadlocks_are_exact(const Subject& subject) {
  return laws_of<MissingCall>(missing_call_laws,
                              {.suite = "deadlocks_are_exact", .generate = generate_missing_call},
                              [subject](JudgeMissingCall judge, const MissingCall& missing) {
                                return judge(missing, subject);
                              });
}

}  // namespace gang::properties
