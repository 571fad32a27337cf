#include "harness/run/exhaustive_runs.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "harness/run/repeated_run.h"
#include "sim/faults/fault_cases.h"
#include "sim/further_runs/buffered_sends.h"
#include "sim/further_runs/contest_text.h"
#include "sim/schedule/guide.h"
#include "sim/text/text_layout.h"

namespace gang::harness {

std::string why_not_exhaustive(const RunSpecification& specification) {
  if (specification.schedule == ScheduleChoice::recheck)
    return "--schedule recheck draws its schedules";
  if (specification.options.context == sim::ContextKind::parallel)
    return "--context parallel cannot be led along a schedule";
  return specification.faults ? sim::why_not_listed(*specification.faults) : "";
}

bool can_be_watched(const RunSpecification& specification) noexcept {
  const bool is_told_of_all = specification.backend == BackendKind::sim || !specification.faults;
  return is_simulated(specification.backend) && is_told_of_all &&
         specification.options.context != sim::ContextKind::parallel;
}

RunSpecification bounded(RunSpecification specification) {
  constexpr std::uint64_t most_switches = 5'000'000;
  if (specification.options.step_limit == sim::SimulationOptions{}.step_limit)
    specification.options.step_limit = most_switches;
  return specification;
}

namespace {

// The runs of an exploration, and what they show.
class ExhaustiveRuns {
 public:
  ExhaustiveRuns(const Program& program, const RunSpecification& specification,
                 const std::function<bool()>& may_go_on, Exploration& exploration, int jobs)
      : program_(program),
        guided_(bounded(specification)),
        may_go_on_(may_go_on),
        exploration_(exploration),
        jobs_(jobs) {
    guided_.schedule = ScheduleChoice::round_robin;
    guided_.options.backend = simulated_backend(specification.backend);
    guided_.options.world_size = specification.world_size.value_or(program.default_world_size);
    faults_ = std::exchange(guided_.faults, std::nullopt);
  }

  void run() {
    exploration_.every.emplace();
    run_case();
    if (faults_ && goes_on()) run_with_faults();
    if (exploration_.failure)
      exploration_.claim = Claim::found;
    else if (exploration_.every->end == End::all_seen)
      exploration_.claim = Claim::proved;
    exploration_.holds_with_buffered_sends =
        exploration_.claim == Claim::proved && !faults_ && is_of_any_sends_;
  }

 private:
  using End = sim::EverySchedule::End;

  bool goes_on() const { return !exploration_.failure && exploration_.every->end == End::all_seen; }

  // Every schedule of the program with the faults that guided_ has.
  void run_case() {
    is_only_one_ = false;
    runs_of_case_ = 0;
    made_.clear();
    results_.clear();
    sim::EverySchedule every = sim::run_every_schedule(
        guided_.options,
        [this](const sim::SimulationOptions& options) { return make(options.guide); },
        [this](const sim::ExploredRun& ran) { return take(ran); }, jobs_,
        [this](const sim::ExploredRun& ran) { return !is_failure(made_with(ran.guide)); });
    if (runs_of_case_ == 1 && !exploration_.failure && is_only_one_) every.end = End::all_seen;
    if (every.end == End::diverged && !exploration_.failure)
      exploration_.failure = diverged(every.diverged_at);
    if (!guided_.faults) exploration_.results = results_.size();
    if (exploration_.failure && is_uncontested(every)) {
      exploration_.failure->is_in_every_schedule = true;
      sim::note_uncontested(exploration_.failure->report);
    }
    if (exploration_.failure && every.holds_otherwise == true)
      sim::note_avoided(exploration_.failure->report);
    if (exploration_.failure && every.continuations)
      name_ends(*every.continuations, every.holds_otherwise == true);
    add(std::move(every));
  }

  // As what the exploration takes them for.
  void name_ends(sim::Continuations& continuations, bool holds_otherwise) const {
    continuations.found.end = sim::end_of(exploration_.failure->report);
    if (!guided_.faults) return;
    continuations.found.end = "not contained";
    continuations.otherwise.end = holds_otherwise ? "contained" : "not contained";
  }

  // Whether all schedules of the case are like its only run.
  bool is_uncontested(const sim::EverySchedule& every) const noexcept {
    return is_guided_ && !guided_.faults && runs_of_case_ == 1 && every.contests == 0 &&
           !every.unguided && (every.end == End::stopped || every.end == End::all_seen);
  }

  void add(sim::EverySchedule every) {
    const std::string case_key = key_of_case();
    if (!seen_cases_.insert(case_key).second) every.classes = 0;  // like one before
    if (every.classes > 0 && guided_.faults) ++exploration_.fault_cases;
    const sim::EverySchedule& before = *exploration_.every;
    every.classes += before.classes;
    every.cut += before.cut;
    every.contests = std::max(every.contests, before.contests);
    every.restarts += before.restarts;
    exploration_.every = std::move(every);
  }

  // What has happened in the runs of this case: a fault that never did might as well be missing.
  std::string key_of_case() const {
    std::string key;
    if (!guided_.faults) return key;
    for (std::size_t i = 0; i < seen_faults_.size(); ++i)
      if (seen_faults_[i].has_fired) key += to_string(guided_.faults->faults[i]) + '\n';
    return key;
  }

  void run_with_faults() {
    sim::FaultCases cases(*faults_, guided_.options.world_size);
    while (goes_on()) {
      guided_.faults = cases.next();
      if (!guided_.faults) break;
      if (guided_.faults->faults.empty()) continue;  // that was the first one
      seen_faults_.assign(guided_.faults->faults.size(), {});
      run_case();
      cases.learn(seen_faults_);
    }
  }

  void note_faults(const RunResult& result) {
    for (const sim::FiredFault& fired : result.report.faults) {
      sim::SeenFault& seen = seen_faults_[fired.fault];
      seen.has_fired = true;
      std::set<int> witnesses(seen.witnesses.begin(), seen.witnesses.end());
      witnesses.insert(fired.witnesses.begin(), fired.witnesses.end());
      seen.witnesses.assign(witnesses.begin(), witnesses.end());
    }
  }

  sim::Report make(const std::shared_ptr<sim::Guide>& guide) {
    RunResult result =
        harness::run(program_, guided_,
                     {.schedule = sim::Recording::on,
                      .outputs = faults_ ? KeepOutputs::data : KeepOutputs::digest_only,
                      .shown = Shown::only_if_it_fails,
                      .settles = false,
                      .clean = [this]() -> const Outputs& { return clean_; },
                      .guide = guide});
    const std::lock_guard lock{mutex_};
    RunResult& made = made_[guide.get()];
    made = std::move(result);
    return made.report;
  }

  const RunResult& made_with(const sim::Guide* guide) {
    const std::lock_guard lock{mutex_};
    return made_.at(guide);
  }

  // Whether to go on.
  bool take(const sim::ExploredRun& ran) {
    const RunResult& result = made_with(ran.guide);
    ++runs_of_case_;
    is_guided_ = ran.guide != nullptr;
    exploration_.coverage.add(result);
    note_faults(result);
    if (faults_ && !guided_.faults && clean_.by_rank.empty()) clean_ = result.outputs;
    results_.insert(result.outputs.digest);
    is_only_one_ = ran.report.schedules == sim::Schedules::every;
    is_of_any_sends_ =
        ran.guide != nullptr && !ran.guide->is_full() &&
        sim::holds_with_buffered_sends(guided_.options, ran.report, ran.guide->log());
    if (is_failure(result))
      fail(result, ran.guide);
    else if (results_.size() > 1 && !guided_.faults && ran.decisive &&
             sim::decides_message(*ran.decisive))
      fail(result, ran.guide,
           sim::message_race(sim::reversed(*ran.decisive), "the outputs differ"));
    else if (is_repeated(exploration_.coverage.runs) && can_be_repeated(result) &&
             !repeats_itself(result, repeat_of(result)))
      exploration_.failure = nondeterministic(result);
    return !exploration_.failure && !is_only_one_ && may_go_on_();
  }

  void fail(const RunResult& result, const sim::Guide* guide,
            std::optional<sim::Finding> finding = {}) {
    exploration_.failure = result;
    exploration_.failure->reproduce = command();
    if (finding) exploration_.failure->report.findings.push_back(*std::move(finding));
    if (guide != nullptr && !guide->is_full()) exploration_.detours = sim::detours_of(guide->log());
  }

  Repeat repeat_of(const RunResult& result) const {
    return [this, &result](sim::Recording trace) {
      return replay(program_, result.specification, result.report.schedule,
                    {.trace = trace, .settles = false});
    };
  }

  std::string command() const { return to_command_line(guided_, "gangsim"); }

  RunResult diverged(std::optional<std::uint64_t> step) {
    const std::lock_guard lock{mutex_};
    return nondeterministic(
        made_.begin()->second,
        step ? fmt::format("From step {} on, other contexts could run.", *step) : std::string());
  }

  RunResult nondeterministic(const RunResult& result, std::string_view detail = {}) const {
    RunResult failure = result;
    note_nondeterminism(failure, repeat_of(result), detail);
    failure.reproduce = to_command_line(failure.specification, "gangsim");
    return failure;
  }

  const Program& program_;
  RunSpecification guided_;
  const std::function<bool()>& may_go_on_;
  Exploration& exploration_;
  const int jobs_;
  std::optional<sim::FaultPlan> faults_;     // of which guided_ has one case, or none
  std::vector<sim::SeenFault> seen_faults_;  // of that case
  std::set<std::string> seen_cases_;
  Outputs clean_;  // of a run without faults
  std::uint64_t runs_of_case_ = 0;
  std::mutex mutex_;
  std::map<const sim::Guide*, RunResult> made_;  // the last one with each guide
  std::set<std::uint64_t> results_;
  bool is_only_one_ = false;
  bool is_guided_ = false;        // the last run
  bool is_of_any_sends_ = false;  // that one: with buffered sends, it holds as well
};

}  // namespace

void run_exhaustively(const Program& program, const RunSpecification& specification,
                      const std::function<bool()>& may_go_on, Exploration& exploration, int jobs) {
  ExhaustiveRuns(program, specification, may_go_on, exploration, jobs).run();
}

std::string why_not_proved(const sim::EverySchedule& every) {
  using End = sim::EverySchedule::End;
  switch (every.end) {
    case End::unguided:
      return fmt::format("a run depends on {}, which exhaustive runs do not cover",
                         to_string(every.unguided.value()));
    case End::too_large:
      return "the runs are too large to compare";
    case End::diverged:
      return "the program does not repeat what it did under the same schedule: it depends on "
             "something else";
    case End::all_seen:
    case End::stopped:
      break;
  }
  return fmt::format("exhaustive runs saw {} class{} of schedules and did not come to an end",
                     every.classes, every.classes == 1 ? "" : "es");
}

}  // namespace gang::harness
