#include "properties/faulty_programs.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/program_file/program_source.h"
#include "harness/programs/all_programs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "properties/law.h"
#include "properties/program_verdict.h"

namespace gang::properties {
namespace {

using harness::FaultyProgram;
using harness::Program;
using harness::RunResult;
using harness::RunSpecification;
using harness::ScheduleChoice;

constexpr std::uint64_t cases_of_a_schedule = 300;
// A race needs this many to show itself, however few cases are asked for.
constexpr std::uint64_t fewest_schedules_of_a_race = 100;

// One run: schedule 0 is round robin, any other the seed of a random one.
struct Trial {
  const FaultyProgram* faulty = nullptr;  // null: `program` is correct as it is
  std::shared_ptr<const Program> program;
  bool is_fixed = false;
  std::uint64_t schedule = 0;
};

std::string to_text(const Trial& trial) {
  const std::string run =
      trial.schedule == 0 ? "round robin" : fmt::format("random schedule seed {}", trial.schedule);
  return fmt::format("{}{}, world {}, {}", trial.program->name,
                     trial.is_fixed ? " with fixed=true" : "", trial.program->default_world_size,
                     run);
}

std::vector<Trial> shrinks(const Trial& trial) {
  if (trial.schedule == 0) return {};
  Trial simpler = trial;
  simpler.schedule = 0;
  return {simpler};
}

RunResult run(const FaultySubject& subject, const Trial& trial) {
  RunSpecification specification =
      harness::find_program_source({*trial.program}, trial.program->name).specification;
  if (trial.is_fixed) specification.parameters["fixed"] = "true";
  if (trial.schedule != 0) {
    specification.options.seed = trial.schedule;
    if (specification.schedule == ScheduleChoice::round_robin)
      specification.schedule = ScheduleChoice::random;
  }
  return subject.run(*trial.program, specification);
}

std::string problem_with(const FaultyProgram& faulty, const RunResult& result) {
  const auto& findings = result.report.findings;
  if (std::string problem = problem_of(findings, faulty.finding); !problem.empty()) return problem;
  const sim::Finding& finding = findings.front();
  if (finding.ranks != faulty.ranks)
    return fmt::format("the finding names ranks [{}], expected [{}]", fmt::join(finding.ranks, ","),
                       fmt::join(faulty.ranks, ","));
  const auto locations = faulty.record->locations();
  const std::string location = to_string(finding.location);
  if (!locations.contains(location))
    return fmt::format("the finding points at '{}', expected {}", location,
                       fmt::join(locations, " or "));
  if (to_string(result).find(location) == std::string::npos)
    return fmt::format("the report does not show {}", location);
  return {};
}

Verdict judge_faulty(const FaultySubject& subject, const Trial& trial) {
  const RunResult result = run(subject, trial);
  if (trial.faulty->shown_in == harness::ShownIn::some_schedules && result.holds())
    return Verdict::holds();
  const std::string problem = problem_with(*trial.faulty, result);
  return problem.empty() ? Verdict::holds() : Verdict::violated(problem + "\n" + to_string(result));
}

Verdict judge_correct(const FaultySubject& subject, const Trial& trial) {
  const RunResult result = run(subject, trial);
  return result.holds() ? Verdict::holds()
                        : Verdict::violated("a correct program has findings\n" + to_string(result));
}

// A program whose bug shows under some schedules only, and how many schedules to try.
struct Race {
  Trial first;
  std::uint64_t schedules = 1;
};

std::string to_text(const Race& race) {
  return fmt::format("{}, world {}, round robin and {} or more random schedules",
                     race.first.program->name, race.first.program->default_world_size,
                     fewest_schedules_of_a_race);
}

std::vector<Race> shrinks(const Race&) { return {}; }

Verdict judge_race(const FaultySubject& subject, const Race& race) {
  Trial trial = race.first;
  for (; trial.schedule <= race.schedules; ++trial.schedule)
    if (!run(subject, trial).holds()) return Verdict::holds();
  return Verdict::violated("no schedule shows " + std::string{race.first.faulty->finding});
}

// By schedule, then program: more schedules make a list with the same beginning, so that a token
// names the same case whatever the number of cases was.
std::vector<Trial> over_schedules(const std::vector<Trial>& trials, std::uint64_t schedules) {
  std::vector<Trial> all;
  for (std::uint64_t schedule = 0; schedule <= schedules; ++schedule) {
    for (const Trial& trial : trials) {
      all.push_back(trial);
      all.back().schedule = schedule;
    }
  }
  return all;
}

std::vector<Trial> faulty_trials(const FaultySubject& subject, bool is_fixed) {
  std::vector<Trial> trials;
  for (const FaultyProgram& faulty : subject.faulty)
    trials.push_back({.faulty = &faulty,
                      .program = std::make_shared<const Program>(to_program(faulty)),
                      .is_fixed = is_fixed});
  return trials;
}

std::vector<Trial> built_in_trials(const FaultySubject& subject) {
  std::vector<Trial> trials;
  for (const Program& program : subject.correct)
    trials.push_back({.program = std::make_shared<const Program>(program)});
  return trials;
}

std::vector<Race> races(const FaultySubject& subject, std::uint64_t schedules) {
  std::vector<Race> all;
  for (const Trial& trial : faulty_trials(subject, false))
    if (trial.faulty->shown_in == harness::ShownIn::some_schedules)
      all.push_back({trial, schedules});
  return all;
}

using SharedSubject = std::shared_ptr<const FaultySubject>;

Law<Trial> faults_law(const SharedSubject& subject, std::uint64_t schedules) {
  return {
      .enumerate = [=](int) { return over_schedules(faulty_trials(*subject, false), schedules); },
      .verdict = [=](const Trial& trial) { return judge_faulty(*subject, trial); }};
}

Law<Trial> corrected_law(const SharedSubject& subject, std::uint64_t schedules) {
  return {
      .enumerate = [=](int) { return over_schedules(faulty_trials(*subject, true), schedules); },
      .verdict = [=](const Trial& trial) { return judge_correct(*subject, trial); }};
}

Law<Trial> built_in_law(const SharedSubject& subject, std::uint64_t schedules) {
  return {.enumerate = [=](int) { return over_schedules(built_in_trials(*subject), schedules); },
          .verdict = [=](const Trial& trial) { return judge_correct(*subject, trial); }};
}

Law<Race> races_law(const SharedSubject& subject, std::uint64_t schedules) {
  return {.enumerate =
              [=](int) { return races(*subject, std::max(schedules, fewest_schedules_of_a_race)); },
          .verdict = [=](const Race& race) { return judge_race(*subject, race); }};
}

// The law over as many schedules as the settings ask for.
template <typename MakeLaw>
Property over_settings(std::string name, std::string description, const MakeLaw& make_law) {
  Property property;
  property.suite = "faulty_programs";
  property.name = name;
  property.description = description;
  property.check = [=](const Settings& settings) {
    const std::uint64_t asked =
        settings.reproduce ? most_schedules : settings.cases / cases_of_a_schedule;
    auto law = make_law(std::clamp<std::uint64_t>(asked, 1, most_schedules));
    law.suite = "faulty_programs";
    law.name = name;
    law.description = description;
    return to_property(law).check(settings);
  };
  return property;
}

}  // namespace

FaultySubject make_faulty_subject() {
  return {.faulty = harness::all_faulty_programs(),
          .correct = harness::all_programs(),
          .run = [](const Program& program, const RunSpecification& specification) {
            return harness::run(program, specification);
          }};
}

std::vector<Property> faulty_programs(const FaultySubject& subject) {
  const auto shared = std::make_shared<const FaultySubject>(subject);
  const auto with = [shared](auto make_law) {
    return [shared, make_law](std::uint64_t schedules) { return make_law(shared, schedules); };
  };
  return {over_settings("every_fault_is_named",
                        "Every wrong program gets its finding, with its ranks and its call.",
                        with(faults_law)),
          over_settings("every_race_shows",
                        "A bug that depends on the schedule shows under some schedule.",
                        with(races_law)),
          over_settings("corrected_ones_hold", "The corrected programs have no finding.",
                        with(corrected_law)),
          over_settings("built_in_ones_hold", "The built-in programs have no finding.",
                        with(built_in_law))};
}

}  // namespace gang::properties
