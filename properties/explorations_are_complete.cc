#include "properties/explorations_are_complete.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/generators/script_case.h"
#include "properties/law.h"
#include "sim/further_runs/buffered_sends.h"
#include "sim/schedule/interleavings.h"
#include "sim/schedule/step_class.h"

namespace gang::properties {
namespace {

using sim::Report;

constexpr std::size_t most_interleavings = 1'000;
constexpr std::size_t estimated_every = 25;  // so many: how many there may be
constexpr std::uint64_t most_classes = 2'000;
constexpr std::uint64_t most_classes_elsewhere = 200;  // over Gloo or NCCL: its runs take longer
constexpr std::uint64_t compared_schedules = 100;

// What a run comes to: how it ends, after how many hours, and with which findings.
std::string outcome_of(const Report& report) {
  std::vector<std::string> findings;  // messages that are left behind are listed as they came
  for (const sim::Finding& finding : report.findings) {
    std::string& text = findings.emplace_back(finding.id);
    for (const int rank : finding.ranks) text += fmt::format(",{}", rank);
  }
  std::ranges::sort(findings);
  return fmt::format("{} after {} h {}", to_string(report.outcome),
                     std::chrono::floor<std::chrono::hours>(report.virtual_time).count(),
                     fmt::join(findings, " "));
}

Report run(const ScriptCase& script, const sim::SimulationOptions& options) {
  return sim::Simulation(options).run(program_of(script));
}

struct Seen {
  std::vector<sim::StepLog> logs;
  std::set<std::string> outcomes;

  // With what all runs receive from any source.
  std::multiset<std::uint64_t> classes(const sim::Knowledge& known) const {
    std::multiset<std::uint64_t> all;
    for (const sim::StepLog& log : logs) all.insert(class_of(log, known));
    return all;
  }
  void add_receives(sim::Knowledge& known) const {
    for (const sim::StepLog& log : logs) sim::merge(known, log.knowledge);
  }
};

// None if the world is too large, or does what exhaustive runs do not cover.
std::optional<Seen> explored(const ScriptCase& script, const Explore& explore) {
  Seen seen;
  const std::uint64_t most =
      script.backend == sim::SimulatedBackend::sim ? most_classes : most_classes_elsewhere;
  std::uint64_t round = 0;
  const auto ran = [&](const sim::ExploredRun& one) {
    if (one.guide->beginning().round != round) seen = {};  // it has begun anew
    round = one.guide->beginning().round;
    seen.logs.push_back(one.guide->log());
    seen.outcomes.insert(outcome_of(one.report));
    return seen.logs.size() < most;
  };
  const sim::EverySchedule every = explore(
      options_of(script),
      [&](const sim::SimulationOptions& options) { return run(script, options); }, ran);
  if (every.end != sim::EverySchedule::End::all_seen) return std::nullopt;
  return seen;
}

// Whether there are most likely too many. The estimate gets better as more runs have been made.
bool seem_too_many(const sim::Interleavings& all, std::size_t runs) {
  const double estimate = static_cast<double>(runs) / all.share_seen();
  const double margin = 1 + 100 / static_cast<double>(runs);
  return estimate > margin * most_interleavings;
}

// Every interleaving of the steps, one after the other. None if there are too many.
std::optional<Seen> enumerated(const ScriptCase& script, sim::Interleavings::Steps steps) {
  Seen seen;
  sim::SimulationOptions options = options_of(script);
  options.scheduler = sim::SchedulerKind::guided;
  options.guide = std::make_shared<sim::Guide>();
  const sim::Knowledge none;
  sim::Interleavings all(steps);
  for (std::size_t runs = 1; runs <= most_interleavings; ++runs) {
    options.guide->begin(sim::Beginning(all.beginning()), none);
    const Report report = run(script, options);
    seen.logs.push_back(options.guide->log());
    seen.outcomes.insert(outcome_of(report));
    if (!all.next(options.guide->log())) return seen;
    if (runs % estimated_every == 0 && seem_too_many(all, runs)) return std::nullopt;
  }
  return std::nullopt;
}

std::string missing_outcome(const std::set<std::string>& expected,
                            const std::set<std::string>& seen) {
  for (const std::string& outcome : expected)
    if (!seen.contains(outcome)) return outcome;
  return {};
}

Verdict judge_against_all(const ScriptCase& script, const Explore& explore) {
  std::optional<Seen> all = enumerated(script, sim::Interleavings::Steps::calls);
  if (!all) all = enumerated(script, sim::Interleavings::Steps::deeds);
  if (!all) return Verdict::not_applicable();
  const std::optional<Seen> seen = explored(script, explore);
  if (!seen) return Verdict::not_applicable();
  if (const std::string missing = missing_outcome(all->outcomes, seen->outcomes); !missing.empty())
    return Verdict::violated("never seen: " + missing);
  if (const std::string extra = missing_outcome(seen->outcomes, all->outcomes); !extra.empty())
    return Verdict::violated("seen, but no interleaving ends so: " + extra);
  sim::Knowledge known;
  all->add_receives(known);
  const std::multiset<std::uint64_t> of_all = all->classes(known);
  const std::multiset<std::uint64_t> of_seen = seen->classes(known);
  const std::set<std::uint64_t> classes(of_all.begin(), of_all.end());
  const std::set<std::uint64_t> found(of_seen.begin(), of_seen.end());
  if (found.size() != of_seen.size())
    return Verdict::violated(fmt::format("{} runs for {} classes", of_seen.size(), found.size()));
  if (found != classes)
    return Verdict::violated(
        fmt::format("{} classes; the interleavings have {}", found.size(), classes.size()));
  return Verdict::holds();
}

Verdict judge_against_random(const ScriptCase& script, const Explore& explore) {
  const std::optional<Seen> seen = explored(script, explore);
  if (!seen) return Verdict::not_applicable();
  sim::Knowledge known;
  seen->add_receives(known);
  const std::multiset<std::uint64_t> of_seen = seen->classes(known);
  const std::set<std::uint64_t> found(of_seen.begin(), of_seen.end());
  if (found.size() != of_seen.size())
    return Verdict::violated(fmt::format("{} runs for {} classes", of_seen.size(), found.size()));
  sim::SimulationOptions options = options_of(script);
  options.scheduler = sim::SchedulerKind::random;
  for (std::uint64_t seed = 1; seed <= compared_schedules; ++seed) {
    options.seed = seed;
    if (const std::string outcome = outcome_of(run(script, options));
        !seen->outcomes.contains(outcome))
      return Verdict::violated(fmt::format("with seed {}, a run ends so: {}; those explored: {}",
                                           seed, outcome, fmt::join(seen->outcomes, "; ")));
  }
  return Verdict::holds();
}

// A proof of rendezvous sends that is said to be one of buffered ones.
Verdict judge_with_buffers(const ScriptCase& script, const Explore& explore) {
  sim::SimulationOptions options = options_of(script);
  bool carries_over = false;
  std::string outcome;
  const sim::EverySchedule every = explore(
      options, [&](const sim::SimulationOptions& guided) { return run(script, guided); },
      [&](const sim::ExploredRun& ran) {
        carries_over = sim::holds_with_buffered_sends(options, ran.report, ran.guide->log());
        outcome = outcome_of(ran.report);
        return carries_over;
      });
  if (!carries_over || every.end != sim::EverySchedule::End::all_seen)
    return Verdict::not_applicable();
  options.scheduler = sim::SchedulerKind::random;
  for (const std::uint64_t bytes : {std::uint64_t{4}, sim::unlimited_bytes}) {
    options.sends = sim::SendMode::buffered(bytes);
    for (options.seed = 1; options.seed <= compared_schedules / 10; ++options.seed)
      if (const std::string buffered = outcome_of(run(script, options)); buffered != outcome)
        return Verdict::violated(fmt::format("with buffers of {} bytes, seed {} ends so: {}", bytes,
                                             options.seed, buffered));
  }
  return Verdict::holds();
}

// Messages in a chain: each is to or from a rank of the one before, so that with rendezvous sends
// many come in one order only.
ScriptCase generate_chain(Draw& draw) {
  using enum ScriptedKind;
  constexpr std::array kinds = {receive,     receive,     receive,      receive,     receive_any,
                                receive_any, receive_any, test_receive, try_receive, timed_wait};
  const int ranks = draw.between(3, 4);
  const bool is_fixed = draw.one_in(2);
  ScriptCase script{.ends_by_what_it_saw = true};
  script.calls.resize(static_cast<std::size_t>(ranks));
  const auto add = [&script](int rank, const ScriptedCall& call) {
    script.calls[static_cast<std::size_t>(rank)].push_back(call);
  };
  const int count = draw.between(2, 4 + draw.size / 25);
  int source = draw.between(0, ranks - 1);
  int destination = (source + 1) % ranks;
  for (int i = 0; i < count; ++i) {
    if (draw.one_in(2)) std::swap(source, destination);
    (draw.one_in(2) ? source : destination) = draw.between(0, ranks - 1);
    if (source == destination) destination = (source + 1) % ranks;
    add(source, {.kind = send, .peer = destination});
    add(destination, {.kind = is_fixed ? receive : draw.any_of(kinds), .peer = source});
    if (!is_fixed && draw.one_in(8)) add(source, {.kind = sleep});
  }
  return script;
}

// At most three ranks with at most four calls.
ScriptCase generate_small(Draw& draw) {
  ScriptCase script = generate_choices(draw);
  script.calls.resize(3);
  for (auto& calls : script.calls)
    if (calls.size() > 4) calls.resize(4);
  return script;
}

// Of choices and their messages, or of messages that mostly deadlock where sends wait.
ScriptCase generate_buffered(Draw& draw) {
  ScriptCase script = draw.one_in(3) ? generate_shuffled_messages(draw) : generate_choices(draw);
  for (auto& calls : script.calls)
    for (ScriptedCall& call : calls)
      if (call.kind == ScriptedKind::receive && draw.one_in(2))
        call.kind = ScriptedKind::receive_any;
  constexpr std::array<std::uint64_t, 4> bytes = {4, 8, 16, sim::unlimited_bytes};
  script.sends = sim::SendMode::buffered(draw.any_of(bytes));
  return script;
}

ScriptCase generate_small_and_buffered(Draw& draw) {
  ScriptCase script = generate_buffered(draw);
  if (script.calls.size() > 3) script.calls.resize(3);
  for (auto& calls : script.calls)
    if (calls.size() > 4) calls.resize(4);
  return script;
}

// Two or three ranks that meet in each call, some with a thread; the first one may break its pair.
ScriptCase generate_small_and_streamed(Draw& draw) {
  using enum ScriptedKind;
  constexpr std::array shared = {two_reductions, two_reductions, gather_behind,
                                 test_reduction, reduction,      barrier};
  ScriptCase script{.ends_by_what_it_saw = true, .execution = sim::ExecutionModel::stream_ordered};
  script.calls.resize(static_cast<std::size_t>(draw.between(2, 3)));
  for (int left = draw.between(1, 2); left > 0; --left) {
    const ScriptedCall call{.kind = draw.any_of(shared), .peer = draw.between(0, 1)};
    for (auto& calls : script.calls) {
      calls.push_back(call);
      if (call.kind == two_reductions && draw.one_in(3)) calls.back().kind = two_threads;
    }
  }
  if (draw.one_in(4)) script.calls.front().push_back({.kind = broken_barrier});
  return script;
}

ScriptCase generate_small_elsewhere(Draw& draw) {
  ScriptCase script = generate_choices_elsewhere(draw);
  script.calls.resize(2);
  for (auto& calls : script.calls) {
    if (calls.size() > 2) calls.resize(2);
    for (ScriptedCall& call : calls) call.peer %= 2;
  }
  return script;
}

ScriptCase generate_small_and_wrong(Draw& draw) {
  ScriptCase script = generate_script(draw);
  script.calls.resize(3);
  for (auto& calls : script.calls) {
    if (calls.size() > 3) calls.resize(3);
    for (ScriptedCall& call : calls)
      if (draw.one_in(8)) call.kind = ScriptedKind::broken_barrier;
  }
  return script;
}

ScriptCase generate_small_and_faulty(Draw& draw) {
  ScriptCase script = generate_faulty_choices(draw);
  script.calls.resize(3);
  for (auto& calls : script.calls)
    if (calls.size() > 3) calls.erase(calls.begin(), calls.end() - 3);
  for (sim::Fault& fault : script.faults) {
    for (int& rank : fault.ranks) rank %= 3;
    if (fault.error_at) std::erase_if(*fault.error_at, [](int rank) { return rank >= 3; });
  }
  return script;
}

using JudgeExploration = Verdict (*)(const ScriptCase&, const Explore&);

constexpr LawRow<JudgeExploration> laws_of_small_worlds[] = {
    {"every_interleaving_is_like_one_run",
     "the runs of an exploration are one of each class that all interleavings fall into, and end "
     "as those do",
     judge_against_all, 20},
};

constexpr LawRow<JudgeExploration> laws_of_small_buffered_worlds[] = {
    {"buffers_leave_the_same_choices",
     "the same of worlds whose links hold all that is sent over them", judge_against_all, 60},
};

constexpr LawRow<JudgeExploration> laws_of_buffered_worlds[] = {
    {"random_schedules_with_buffers_end_no_otherwise",
     "100 random schedules with buffers end as some run of the exploration does; no class is run "
     "twice",
     judge_against_random, 60},
};

constexpr LawRow<JudgeExploration> laws_of_fixed_peers[] = {
    {"rendezvous_proofs_hold_with_buffers",
     "what is proved of rendezvous sends, and said to be of buffered ones, 20 random schedules "
     "with "
     "buffers do",
     judge_with_buffers, 30},
};

constexpr LawRow<JudgeExploration> laws_of_small_faulty_worlds[] = {
    {"faults_are_choices_like_others",
     "the same of worlds with a fault of one rank, whose peers may shrink the world",
     judge_against_all, 60},
};

constexpr LawRow<JudgeExploration> laws_of_small_wrong_worlds[] = {
    {"aborts_are_choices_like_others", "the same of calls that mostly deadlock, mismatch or abort",
     judge_against_all, 60},
};

constexpr LawRow<JudgeExploration> laws_of_faulty_worlds[] = {
    {"random_schedules_with_a_fault_end_no_otherwise",
     "100 random schedules with a fault end as some run of the exploration does",
     judge_against_random, 20},
};

constexpr LawRow<JudgeExploration> laws_of_choices_explored[] = {
    {"random_schedules_end_no_otherwise",
     "100 random schedules end as some run of the exploration does; no class is run twice",
     judge_against_random, 30},
};

constexpr LawRow<JudgeExploration> laws_of_explored_backends[] = {
    {"other_backends_end_no_otherwise",
     "100 random schedules over Gloo or NCCL, whose threads they switch at each lock, end as some "
     "run of the exploration does; no class is run twice",
     judge_against_random, 200},
};

constexpr LawRow<JudgeExploration> laws_of_small_streamed_worlds[] = {
    {"streams_leave_the_same_choices",
     "the same of worlds whose ranks run operations in the order in which they launch them",
     judge_against_all, 150},
};

constexpr LawRow<JudgeExploration> laws_of_small_worlds_elsewhere[] = {
    {"other_backends_leave_the_same_choices",
     "the runs of an exploration over Gloo or NCCL are one of each class that all interleavings "
     "fall into, and end as those do",
     judge_against_all, 600},
};

constexpr LawRow<JudgeExploration> laws_of_calls_explored[] = {
    {"aborts_and_errors_end_no_otherwise",
     "the same of calls that mostly deadlock, mismatch or abort", judge_against_random, 30},
};

}  // namespace

std::vector<Property> explorations_are_complete(const Explore& explore) {
  const auto apply = [explore](JudgeExploration judge, const ScriptCase& script) {
    return judge(script, explore);
  };
  std::vector<Property> all;
  const auto add = [&](const auto& laws, ScriptCase (*generate)(Draw&)) {
    for (Property& law :
         laws_of<ScriptCase>(laws, {.suite = "exploration", .generate = generate}, apply))
      all.push_back(std::move(law));
  };
  add(laws_of_small_worlds, generate_small);
  add(laws_of_fixed_peers, generate_chain);
  add(laws_of_small_buffered_worlds, generate_small_and_buffered);
  add(laws_of_buffered_worlds, generate_buffered);
  add(laws_of_small_streamed_worlds, generate_small_and_streamed);
  add(laws_of_small_faulty_worlds, generate_small_and_faulty);
  add(laws_of_small_wrong_worlds, generate_small_and_wrong);
  add(laws_of_explored_backends, generate_choices_elsewhere);
  add(laws_of_small_worlds_elsewhere, generate_small_elsewhere);
  add(laws_of_faulty_worlds, generate_faulty_choices);
  add(laws_of_choices_explored, generate_choices);
  add(laws_of_calls_explored, generate_script);
  return all;
}

}  // namespace gang::properties
