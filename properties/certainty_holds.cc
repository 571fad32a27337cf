#include "properties/certainty_holds.h"

#include <algorithm>

#include <fmt/format.h>

#include "properties/generators/script_case.h"
#include "properties/law.h"
#include "sim/further_runs/every_schedule.h"

namespace gang::properties {
namespace {

using sim::Dependence;
using sim::Finding;
using sim::Report;
using sim::Schedules;

constexpr std::uint64_t random_schedules = 200;

bool is_claimed_of_all(const std::optional<sim::Certainty>& certainty) {
  return certainty && certainty->schedules == Schedules::every;
}

// What `claims` says of every schedule and `seen`, of one of them, does not show; empty if nothing.
std::string unkept_claim(const Report& claims, const Report& seen) {
  const bool is_certain =
      claims.schedules == Schedules::every || is_claimed_of_all(claims.certainty);
  if (is_certain && seen.outcome != claims.outcome)
    return fmt::format("the outcome is {}", to_string(seen.outcome));
  for (const Finding& claimed : claims.findings) {
    if (!is_claimed_of_all(claimed.certainty)) continue;
    const bool is_seen = std::ranges::any_of(seen.findings, [&claimed](const Finding& finding) {
      return finding.id == claimed.id && finding.ranks == claimed.ranks;
    });
    if (!is_seen) return fmt::format("{} is missing", claimed.id);
  }
  return {};
}

ScriptCase without_tags(ScriptCase script) {
  for (std::vector<ScriptedCall>& calls : script.calls)
    for (ScriptedCall& call : calls) call.tag = 0;
  return script;
}

// Runs `script` under random schedules; `judge` says what is wrong with a run.
template <typename Judge>
Verdict over_schedules(const ScriptCase& script, sim::SimulationOptions options,
                       const Subject& subject, const Judge& judge) {
  options.scheduler = sim::SchedulerKind::random;
  for (std::uint64_t seed = 1; seed <= random_schedules; ++seed) {
    options.seed = seed;
    const Report report = subject.simulate(options, program_of(script));
    if (const std::string wrong = judge(report); !wrong.empty())
      return Verdict::violated(fmt::format("with seed {}, {}", seed, wrong)).shown_by(report);
  }
  return Verdict::holds();
}

Verdict judge_every_schedule(const ScriptCase& drawn, const Subject& subject) {
  const ScriptCase script = subject.has_tags ? drawn : without_tags(drawn);
  const Report first = subject.simulate(options_of(script), program_of(script));
  const bool claims = first.schedules == Schedules::every || is_claimed_of_all(first.certainty) ||
                      std::ranges::any_of(first.findings, [](const Finding& finding) {
                        return is_claimed_of_all(finding.certainty);
                      });
  if (!claims) return Verdict::not_applicable();
  Verdict verdict =
      over_schedules(script, options_of(script), subject,
                     [&first](const Report& seen) { return unkept_claim(first, seen); });
  if (verdict.is_violated() || !subject.is_guided) return verdict;
  // Where there are few, all of them.
  constexpr std::uint64_t most_classes = 200;
  std::uint64_t classes = 0;
  sim::run_every_schedule(
      options_of(script),
      [&](const sim::SimulationOptions& options) {
        return subject.simulate(options, program_of(script));
      },
      [&](const sim::ExploredRun& ran) {
        if (const std::string wrong = unkept_claim(first, ran.report); !wrong.empty())
          verdict = Verdict::violated(fmt::format("in schedule {}, {}", classes, wrong))
                        .shown_by(ran.report);
        return !verdict.is_violated() && ++classes < most_classes;
      });
  return verdict;
}

Verdict judge_settled(const ScriptCase& script, const Subject& subject) {
  const sim::RunAgain again = [&](const sim::SimulationOptions& options) {
    return subject.simulate(options, program_of(script));
  };
  Report first = again(options_of(script));
  sim::settle_deadlock(options_of(script), first, again);
  if (!first.certainty || first.certainty->sends != Dependence::needed ||
      first.certainty->decided_in != Schedules::every)
    return Verdict::not_applicable();
  sim::SimulationOptions buffered = options_of(script);
  buffered.sends = sim::SendMode::buffered(1 << 20);
  return over_schedules(script, buffered, subject, [](const Report& seen) {
    return seen.holds() ? std::string() : fmt::format("the run is {}", to_string(seen.outcome));
  });
}

using JudgeScript = Verdict (*)(const ScriptCase&, const Subject&);

constexpr LawRow<JudgeScript> laws_of_calls[] = {
    {"every_schedule_is_every_schedule",
     "what is said to happen in every schedule happens in 200 random ones, and where there are few "
     "classes of them, in all",
     judge_every_schedule, 10},
};

// Its runs take longer.
constexpr LawRow<JudgeScript> laws_of_other_backends[] = {
    {"every_schedule_is_every_schedule",
     "what is said to happen in every schedule happens in 200 random ones", judge_every_schedule,
     50},
};

constexpr LawRow<JudgeScript> laws_of_choices[] = {
    {"what_looks_like_a_choice_is_none",
     "what is said to happen in every schedule does, whatever ranks receive from and test",
     judge_every_schedule, 30},
};

constexpr LawRow<JudgeScript> laws_of_messages[] = {
    {"what_buffers_cure_they_cure_in_every_schedule",
     "a deadlock said to need rendezvous sends does not happen with buffers in 200 random "
     "schedules",
     judge_settled, 10},
};

}  // namespace

std::vector<Property> certainty_holds(const Subject& subject) {
  const auto apply = [subject](JudgeScript judge, const ScriptCase& script) {
    return judge(script, subject);
  };
  std::vector<Property> all;
  const auto add = [&all, &apply](const LawRow<JudgeScript>(&laws)[1],
                                  ScriptCase (*generate)(Draw&)) {
    for (Property& law :
         laws_of<ScriptCase>(laws, {.suite = "certainty", .generate = generate}, apply))
      all.push_back(std::move(law));
  };
  add(subject.is_guided ? laws_of_calls : laws_of_other_backends, generate_script);
  if (!subject.is_guided) return all;
  add(laws_of_choices, generate_choices);
  add(laws_of_messages, generate_shuffled_messages);
  return all;
}

}  // namespace gang::properties
