// Makes a failing run smaller, and writes it down.
#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/error.h"
#include "harness/run/exhaustive_runs.h"
#include "harness/run/exploration.h"
#include "harness/run/fault_check.h"
#include "harness/run/fault_file.h"
#include "harness/run/schedule_shrinking.h"

namespace gang::harness {
namespace {

std::string first_id(const RunResult& result) {
  return result.report.findings.empty() ? "" : result.report.findings.front().id;
}

bool fails_as(const RunResult& failure, const RunResult& result) {
  return is_failure(result) && result.report.outcome == failure.report.outcome &&
         first_id(result) == first_id(failure);
}

// A run as `specification` says that fails as `failure` does; none: none was seen.
using FailingRun = std::function<std::optional<RunResult>(const RunSpecification& specification,
                                                          const RunResult& failure)>;

// Tries one change after the other, and keeps those under which there is such a run.
class Shrinker {
 public:
  Shrinker(const Program& program, const RunResult& failure, std::size_t most_attempts,
           FailingRun failing_run)
      : program_(program),
        most_attempts_(most_attempts),
        failing_run_(std::move(failing_run)),
        smaller_{.result = failure} {
    RunSpecification& specification = smaller_.result.specification;
    if (specification.faults && failure.report.fault_plan) {
      specification.faults = *failure.report.fault_plan;
      specification.faults->name.clear();
    }
  }

  SmallerFailure shrink() {
    bool goes_on = true;
    while (goes_on) {
      const std::size_t before = smaller_.steps;
      drop_faults();
      simplify_faults();
      shrink_world();
      shrink_parameters();
      try_change([](RunSpecification& s) {
        const bool changes = s.schedule != ScheduleChoice::round_robin;
        s.schedule = ScheduleChoice::round_robin;
        return changes;
      });
      goes_on = smaller_.steps != before;
    }
    return std::move(smaller_);
  }

 private:
  const RunSpecification& specification() const { return smaller_.result.specification; }

  // `change` returns whether it changes anything.
  template <typename Change>
  bool try_change(const Change& change) {
    RunSpecification changed = specification();
    if (!change(changed) || smaller_.attempts >= most_attempts_) return false;
    ++smaller_.attempts;
    try {
      std::optional<RunResult> result = failing_run_(changed, smaller_.result);
      if (!result) return false;
      smaller_.result = *std::move(result);
      smaller_.result.specification = std::move(changed);
    } catch (const Error&) {
      return false;  // the program does not accept this world or these parameters
    }
    ++smaller_.steps;
    return true;
  }

  std::size_t faults() const {
    return specification().faults ? specification().faults->faults.size() : 0;
  }

  void drop_faults() {
    for (std::size_t i = faults(); i-- > 0;)
      try_change([i](RunSpecification& s) {
        s.faults->faults.erase(s.faults->faults.begin() + static_cast<std::ptrdiff_t>(i));
        return !s.faults->faults.empty();
      });
  }

  template <typename Change>
  void try_fault(std::size_t index, const Change& change) {
    try_change([index, &change](RunSpecification& s) {
      const sim::Fault before = s.faults->faults[index];
      change(s.faults->faults[index]);
      return !(s.faults->faults[index] == before);
    });
  }

  void simplify_faults() {
    for (std::size_t i = 0; i < faults(); ++i) {
      for (std::size_t victim = specification().faults->faults[i].ranks.size(); victim-- > 1;)
        try_fault(i, [victim](sim::Fault& fault) {
          if (victim < fault.ranks.size())
            fault.ranks.erase(fault.ranks.begin() + static_cast<std::ptrdiff_t>(victim));
        });
      try_fault(i, [](sim::Fault& fault) { fault.trigger.moment = sim::FaultMoment::before; });
      try_fault(i, [](sim::Fault& fault) {
        if (fault.notice) fault.notice = Duration::zero();
      });
      try_fault(i, [](sim::Fault& fault) { fault.lasts.reset(); });
      try_fault(i, [](sim::Fault& fault) { fault.factor = 1; });
      try_fault(i, [](sim::Fault& fault) {
        if (fault.trigger.operation && fault.trigger.operation->least > 0)
          fault.trigger.operation = fault.trigger.operation->least / 2;
      });
      try_fault(i, [](sim::Fault& fault) {
        if (fault.delay) fault.delay = fault.delay->least / 2;
      });
    }
  }

  void shrink_world() {
    const auto to = [this](int world_size) {
      return try_change([world_size](RunSpecification& s) {
        const int before = *s.world_size;
        s.world_size = world_size;
        if (!s.faults) return world_size >= 1 && world_size < before;
        for (sim::Fault& fault : s.faults->faults) {
          std::erase_if(fault.ranks, [world_size](int rank) { return rank >= world_size; });
          std::erase_if(fault.to, [world_size](int rank) { return rank >= world_size; });
          if (fault.ranks.empty() || (is_of_link(fault.kind) && fault.to.empty())) return false;
        }
        return world_size >= 1 && world_size < before;
      });
    };
    while (to(*specification().world_size / 2)) {
    }
    while (to(*specification().world_size - 1)) {
    }
  }

  void shrink_parameters() {
    for (const Parameter& parameter : program_.parameters) {
      const auto* range = std::get_if<IntegerRange>(&parameter.accepted);
      if (range == nullptr) continue;
      const auto set = [&parameter](std::int64_t value) {
        return [&parameter, value](RunSpecification& s) {
          const auto given = s.parameters.find(parameter.name);
          const ParameterValue before = given == s.parameters.end()
                                            ? parameter.default_value
                                            : parse_parameter_value(parameter, given->second);
          s.parameters[parameter.name] = fmt::format("{}", value);
          return value < std::get<std::int64_t>(before);
        };
      };
      if (!try_change(set(range->minimum))) try_change(set(range->minimum + 1));
    }
  }

  const Program& program_;
  const std::size_t most_attempts_;
  const FailingRun failing_run_;
  SmallerFailure smaller_;
};

// Explorations of a program as other specifications have it, each of which finds the failure.
class OtherExplorations {
 public:
  OtherExplorations(const Program& program, const Exploration& first, std::uint64_t most_runs)
      : program_(program), runs_left_(most_runs), last_(first) {
    if (!last_.sample) return;
    // Few detours are met in smaller programs, too.
    RunWithDetours simpler = simplify_schedule(program_, *last_.failure, *last_.detours).run;
    if (is_failure(simpler.result)) {
      last_.failure = std::move(simpler.result);
      last_.detours = std::move(simpler.detours);
    }
    explore_what_was_drawn();
  }

  std::optional<RunResult> failing_run(const RunSpecification& specification) {
    Exploration tried = last_.sample ? with_detours(specification) : explored(specification);
    if (!finds_it(tried) || !is_decided_alike(tried)) return std::nullopt;
    last_ = std::move(tried);
    return last_.failure;
  }

  Exploration last() && {
    if (last_.sample) explore_what_was_drawn();
    return std::move(last_);
  }

 private:
  bool finds_it(const Exploration& tried) const {
    return tried.failure && tried.detours && fails_as(*last_.failure, *tried.failure);
  }

  // A program that fails whatever the schedule is another failure than one that a choice decides.
  bool is_decided_alike(const Exploration& tried) const {
    return last_.sample || (tried.every && last_.every &&
                            tried.every->holds_otherwise == last_.every->holds_otherwise);
  }

  Exploration explored(const RunSpecification& specification) {
    // A smaller program has fewer schedules, as a rule.
    constexpr std::uint64_t few = 64;
    const std::uint64_t share =
        std::min(runs_left_, last_.sample ? few : std::max(few, last_.coverage.runs));
    Exploration tried;
    if (share > 0 && can_be_exhaustive(specification))
      run_exhaustively(program_, specification, [&] { return tried.coverage.runs < share; }, tried);
    runs_left_ -= std::min(runs_left_, tried.coverage.runs);
    return tried;
  }

  // Exhaustive runs see what is decisive, if they come upon the failure.
  void explore_what_was_drawn() {
    Exploration tried = explored(last_.failure->specification);
    if (finds_it(tried) && tried.every->holds_otherwise == true) last_ = std::move(tried);
  }

  // The drawn schedule, and the one that runs take by themselves.
  Exploration with_detours(const RunSpecification& specification) {
    Exploration tried = last_;
    tried.failure.reset();
    if (runs_left_ < 2) return tried;
    runs_left_ -= 2;
    const RunRecording recording{.clean = clean_outputs(program_, specification)};
    RunWithDetours made = run_with_detours(program_, specification, *last_.detours, recording);
    const bool is_decided = !last_.detours->empty();
    if (is_decided && is_failure(run_with_detours(program_, specification, {}, recording).result))
      return tried;
    tried.failure = std::move(made.result);
    tried.detours = std::move(made.detours);
    return tried;
  }

  const Program& program_;
  std::uint64_t runs_left_;
  Exploration last_;
};

// A TOML text in quotes.
std::string in_quotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') quoted += '\\';
    quoted += character == '\n' ? ' ' : character;
  }
  return quoted + "\"";
}

std::string commented(const std::string& text) {
  std::string lines = "# ";
  for (const char character : text) {
    lines += character;
    if (character == '\n') lines += "# ";
  }
  return lines + "\n";
}

std::string expectation(const RunResult& result) {
  std::set<std::string> ids;
  std::set<int> ranks;
  for (const sim::Finding& finding : result.report.findings) {
    ids.insert(in_quotes(finding.id));
    ranks.insert(finding.ranks.begin(), finding.ranks.end());
  }
  return fmt::format("[expect]\noutcome = \"{}\"\nfindings = [{}]\nranks = [{}]\n",
                     to_string(result.report.outcome), fmt::join(ids, ", "),
                     fmt::join(ranks, ", "));
}

}  // namespace

SmallerFailure shrink_failure(const Program& program, const RunResult& failure,
                              const RunRecording& recording, std::size_t most_attempts) {
  Shrinker shrinker(program, failure, most_attempts,
                    [&program](const RunSpecification& specification,
                               const RunResult& larger) -> std::optional<RunResult> {
                      RunResult result = run(program, specification);
                      if (!fails_as(larger, result)) return std::nullopt;
                      return result;
                    });
  SmallerFailure smaller = shrinker.shrink();
  // Even where it is the failure itself: the result is a run of the specification. Only a program
  // that does not repeat itself may hold now.
  RunResult again = run(program, smaller.result.specification, recording);
  if (!is_nondeterministic(failure) || fails_as(failure, again)) smaller.result = std::move(again);
  return smaller;
}

SmallerExploration shrink_exploration(const Program& program, const Exploration& exploration,
                                      std::uint64_t most_runs) {
  const RunResult& failure = *exploration.failure;
  if (!exploration.detours || is_nondeterministic(failure)) return {.exploration = exploration};
  OtherExplorations others(program, exploration, most_runs);
  const SmallerFailure shrunk =
      Shrinker(program, failure, most_runs,
               [&others](const RunSpecification& specification, const RunResult&) {
                 return others.failing_run(specification);
               })
          .shrink();
  return {
      .exploration = std::move(others).last(), .attempts = shrunk.attempts, .steps = shrunk.steps};
}

std::string to_scenario(const RunResult& result, const std::string& program,
                        const std::string& comment) {
  const RunSpecification& specification = result.specification;
  std::string text = commented(comment);
  text +=
      fmt::format("program = {}\nworld = {}\n\n[options]\n", in_quotes(program), result.world_size);
  for (const RunOption& option : run_options()) {
    if (option.name == "world" || option.name == "faults") continue;
    if (const auto value = option.text(specification))
      text += fmt::format("{} = {}\n", option.name, in_quotes(*value));
  }
  if (!specification.parameters.empty()) text += "\n[set]\n";
  for (const auto& [name, value] : specification.parameters)
    text += fmt::format("{} = {}\n", name, in_quotes(value));
  if (specification.faults) text += "\n" + to_scenario_toml(*specification.faults);
  return text + "\n" + expectation(result);
}

}  // namespace gang::harness
