#include "harness/run/sampled_runs.h"

#include <atomic>
#include <cmath>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gang/hash.h"
#include "harness/run/exhaustive_runs.h"
#include "harness/run/fault_check.h"
#include "harness/run/outputs_by_messages.h"
#include "harness/run/repeated_run.h"
#include "harness/text/number_text.h"
#include "sim/further_runs/contest_text.h"
#include "sim/schedule/guide.h"
#include "sim/schedule/step_class.h"

namespace gang::harness {
namespace {

bool is_guided(const Sampling& sampling) noexcept { return sampling.strategy != Strategy::random; }

// Chooses from one seed of the runs that sampling begins with, and of those that it consists of.
std::unique_ptr<sim::Sampler> make_sampler(const Sampling& sampling, std::uint64_t seed) {
  return sampling.strategy == Strategy::pct
             ? sim::make_pct_sampler(seed, sampling.depth, sampling.known)
             : sim::make_pos_sampler(seed, sampling.known);
}

// The class of a run: of its schedule, and of the faults that have happened.
std::uint64_t class_of(const sim::Guide& guide, const sim::Report& report) {
  std::uint64_t digest = sim::class_of(guide.log());
  for (const sim::FiredFault& fired : report.faults)
    digest = splitmix64(digest, hash_bytes(std::as_bytes(std::span(fired.description))));
  return digest;
}

// The work that the threads share.
class Runs {
 public:
  Runs(const Program& program, const RunSpecification& specification,
       const ExplorationOptions& options, const Sampling& sampling)
      : program_(program),
        specification_(bounded(specification)),
        options_(options),
        sampling_(sampling),
        is_watched_(can_be_watched(specification)),
        repeats_all_(specification.schedule == ScheduleChoice::recheck) {
    specification_.schedule =
        is_guided(sampling) ? ScheduleChoice::round_robin : ScheduleChoice::random;
  }

  // Runs seed after seed, until none is left that could be the first to fail.
  void work(const std::function<void()>& before_run = [] {}) {
    const auto guide = std::make_shared<sim::Guide>();
    while (has_time()) {
      before_run();
      const std::uint64_t index = next_.fetch_add(1);
      if (index >= options_.schedules || index > first_failure_.load()) return;
      try {
        run_one(index, guide);
      } catch (...) {
        const std::lock_guard lock{mutex_};
        if (!error_) error_ = std::current_exception();
        lower(index);
        return;
      }
    }
  }

  ExplorationCoverage coverage() const {
    const std::lock_guard lock{mutex_};
    return coverage_;
  }

  Exploration take() {
    if (error_) std::rethrow_exception(error_);
    if (const auto race = held_.race(); race && (!failure_ || race->second <= first_failure_))
      fail_by_race(*race);
    Exploration exploration{.coverage = std::move(coverage_),
                            .failure = std::move(failure_),
                            .detours = std::move(detours_)};
    if (exploration.failure) exploration.claim = Claim::found;
    if (classes_.empty()) return exploration;
    Sample& sample = exploration.sample.emplace(Sample{.strategy = sampling_.strategy,
                                                       .depth = sampling_.depth,
                                                       .contexts = sampling_.known.contexts(),
                                                       .steps = sampling_.known.steps(),
                                                       .longer_runs = longer_runs_,
                                                       .contests = contests_});
    if (sample.strategy == Strategy::pct)
      sample.bound = sim::pct_bound(sample.depth, sampling_.known);
    for (const auto& [step_class, runs] : classes_) {
      sample.runs += runs;
      ++sample.classes;
      if (runs == 1) ++sample.seen_once;
    }
    return exploration;
  }

 private:
  bool has_time() const {
    return !options_.budget || std::chrono::steady_clock::now() - began_ < *options_.budget;
  }

  RunResult run_seed(std::uint64_t index, const std::shared_ptr<sim::Guide>& guide,
                     RunRecording recording) {
    RunSpecification specification = specification_;
    specification.options.seed += index;
    if (is_guided(sampling_)) {
      guide->sample(make_sampler(sampling_, specification.options.seed),
                    sampling_.known.knowledge());
      recording.settles = false;  // further runs would use up a guide that chooses
    }
    recording.neighbours = sim::Neighbours::none;
    recording.clean = clean_outputs(program_, specification);
    if (is_watched_) recording.guide = guide;
    return run(program_, specification, recording);
  }

  // Whether the program does something else when it is run under the same schedule. Then `result`
  // says so.
  bool is_found_nondeterministic(std::uint64_t index, RunResult& result) {
    if (!(repeats_all_ || is_repeated(index + 1)) || !can_be_repeated(result)) return false;
    const auto guide = std::make_shared<sim::Guide>();
    const Repeat repeat = [&](sim::Recording trace) {
      return run_seed(index, guide, {.trace = trace, .settles = false});
    };
    if (repeats_itself(result, repeat)) return false;
    note_nondeterminism(result, repeat);
    result.reproduce = to_command_line(result.specification, "gangsim");
    return true;
  }

  void run_one(std::uint64_t index, const std::shared_ptr<sim::Guide>& guide) {
    RunResult result = run_seed(index, guide, {.shown = Shown::only_if_it_fails});
    const bool fails = is_failure(result) || is_found_nondeterministic(index, result);
    const bool has_class = is_watched_ && !guide->is_full();
    const std::uint64_t step_class = has_class ? class_of(*guide, result.report) : 0;
    const std::uint64_t contests = has_class && index < counted_runs ? contests_of(*guide) : 0;
    const bool is_longer = has_class && sampling_.strategy == Strategy::pct && exceeds(*guide);
    std::optional<std::vector<sim::Detour>> detours;
    if (fails && is_guided(sampling_) && !is_nondeterministic(result)) {
      result = run_seed(index, guide, {.schedule = recording()});
      if (!guide->is_full()) detours = sim::detours_of(guide->log());
    }
    const std::lock_guard lock{mutex_};
    coverage_.add(result);
    if (has_class) ++classes_[step_class];
    if (is_longer) ++longer_runs_;
    contests_ = std::max(contests_, contests);
    if (has_class && result.holds() && !specification_.faults) {
      const bool is_new = held_.note(index, result.outputs.digest, guide->log());
      if (const auto race = is_new ? held_.race() : std::nullopt) lower(race->second);
    }
    if (!fails || index > first_failure_.load()) return;
    lower(index);
    failure_ = std::move(result);
    detours_ = std::move(detours);
  }

  // Of which contested choices are counted: that takes as long as some runs.
  static constexpr std::uint64_t counted_runs = 16;

  static std::uint64_t contests_of(const sim::Guide& guide) {
    sim::KnownContests known;
    known.learn(guide.log());
    return known.contested_accesses(guide.log());
  }

  // Whether the run goes beyond what the bound was computed from.
  bool exceeds(const sim::Guide& guide) const {
    return guide.log().contexts.size() > sampling_.known.contexts() ||
           sampling_.known.contested_steps(guide.log()) > sampling_.known.steps();
  }

  // The second of the two runs fails; but where the schedule is told by what it does otherwise than
  // a run by itself, not the one that puts out the same as that.
  void fail_by_race(const OutputsByMessages::Race& race) {
    const auto guide = std::make_shared<sim::Guide>();
    failure_ = run_seed(race.second, guide, {.schedule = recording()});
    sim::Contest contest = sim::reversed(race.contest);
    if (is_guided(sampling_) &&
        failure_->outputs.digest ==
            run(program_, specification_, {.settles = false}).outputs.digest) {
      failure_ = run_seed(race.first, guide, {.schedule = recording()});
      contest = race.contest;
    }
    detours_.reset();
    if (is_guided(sampling_) && !guide->is_full()) detours_ = sim::detours_of(guide->log());
    failure_->report.findings.push_back(sim::message_race(contest, "the outputs differ"));
  }

  // Of a run that fails. What a random scheduler chose is repeated by its seed.
  sim::Recording recording() const noexcept {
    return is_guided(sampling_) ? sim::Recording::on : sim::Recording::off;
  }

  void lower(std::uint64_t index) {
    if (index < first_failure_.load()) first_failure_.store(index);
  }

  const Program& program_;
  RunSpecification specification_;
  const ExplorationOptions& options_;
  const Sampling& sampling_;
  const bool is_watched_;
  const bool repeats_all_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> first_failure_{~std::uint64_t{0}};
  mutable std::mutex mutex_;  // of what follows
  ExplorationCoverage coverage_;
  std::optional<RunResult> failure_;
  std::optional<std::vector<sim::Detour>> detours_;  // of failure_
  std::map<std::uint64_t, std::uint64_t> classes_;   // runs of each
  std::uint64_t longer_runs_ = 0;
  std::uint64_t contests_ = 0;
  OutputsByMessages held_;
  std::exception_ptr error_;
};

// Learns from a few runs: first what is contested, then how often.
sim::KnownContests learn_contests(const Program& program, const RunSpecification& specification) {
  constexpr std::uint64_t runs = 4;
  RunSpecification pilot = bounded(specification);
  pilot.schedule = ScheduleChoice::round_robin;
  const auto guide = std::make_shared<sim::Guide>();
  sim::KnownContests known;
  const sim::KnownContests nothing;
  for (std::uint64_t seed = 1; seed <= 2 * runs; ++seed) {
    pilot.options.seed = seed;
    guide->sample(sim::make_pct_sampler(seed, 1, nothing), known.knowledge());
    run(program, pilot, {.settles = false, .guide = guide});
    if (seed <= runs)
      known.learn(guide->log());
    else
      known.measure(guide->log());
  }
  return known;
}

// The greatest depth up to 3 of bugs that so many runs find almost certainly; 0: of 1 only.
int promised_depth(const sim::KnownContests& known, std::uint64_t runs) {
  constexpr double almost_certainly = 0.99;
  for (const int depth : {3, 2})
    if (Sample{.bound = sim::pct_bound(depth, known), .runs = runs}.promise() >= almost_certainly)
      return depth;
  return 0;
}

// How many runs there will be, about: a second is enough for a thousand.
std::uint64_t expected_runs(const ExplorationOptions& options) {
  if (options.schedules < any_schedules || !options.budget) return options.schedules;
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(*options.budget).count();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(1, milliseconds));
}

// The N of "1 in N". But for its rounding, the bound is one part of a whole number.
std::string odds_text(double bound) {
  constexpr double most_in_full = 1e15;
  const double odds = 1 / bound;
  return odds < most_in_full ? grouped(static_cast<std::uint64_t>(std::llround(odds)))
                             : fmt::format("{:.1e}", odds);
}

bool decides_something_else(const std::optional<sim::EverySchedule>& every) {
  using End = sim::EverySchedule::End;
  return !every || every->end == End::unguided || every->end == End::too_large;
}

}  // namespace

bool ProgressReporter::is_due() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return false;
  next_ = now + std::chrono::milliseconds(200);
  return true;
}

void ProgressReporter::tell(const ExplorationCoverage& coverage) {
  ExplorationCoverage all = before_;
  all.add(coverage);
  progress_(all);
}

Sampling choose_sampling(const Program& program, const RunSpecification& specification,
                         const ExplorationOptions& options,
                         const std::optional<sim::EverySchedule>& every) {
  Sampling sampling;
  const bool is_open = options.strategy == Strategy::automatic;
  if (options.strategy == Strategy::random || (is_open && decides_something_else(every)))
    return sampling;
  sampling.known = learn_contests(program, specification);
  sampling.strategy = options.strategy;
  sampling.depth = options.depth;
  if (!is_open) return sampling;
  sampling.depth = promised_depth(sampling.known, expected_runs(options));
  sampling.strategy = sampling.depth > 0 ? Strategy::pct : Strategy::pos;
  return sampling;
}

Exploration run_sampled(const Program& program, const RunSpecification& specification,
                        const ExplorationOptions& options,
                        const std::optional<sim::EverySchedule>& every,
                        ProgressReporter& reporter) {
  const Sampling sampling = choose_sampling(program, specification, options, every);
  Runs runs{program, specification, options, sampling};
  if (options.jobs == 1) {
    runs.work([&] { reporter.report([&] { return runs.coverage(); }); });
    return runs.take();
  }
  std::atomic<int> working{options.jobs};
  {
    std::vector<std::jthread> threads;
    for (int job = 0; job < options.jobs; ++job)
      threads.emplace_back([&runs, &working] {
        runs.work();
        --working;
      });
    while (working.load() > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      reporter.report([&] { return runs.coverage(); });
    }
  }
  return runs.take();
}

std::string to_text(const Sample& sample) {
  std::string name(name_of(strategy_names, sample.strategy));
  if (sample.strategy == Strategy::pct) name += fmt::format(":{}", sample.depth);
  const std::string contests =
      sample.contests == 0
          ? ""
          : fmt::format(" (up to {} in a run)", grouped(sample.contests, "contested choice"));
  std::string text =
      fmt::format("{} of schedules in {}{}; about {:.1f} % of further runs would be new",
                  sample.classes == 1 ? "1 class" : grouped(sample.classes) + " classes",
                  grouped(sample.runs, name + " run"), contests, 100 * sample.unseen());
  if (sample.strategy != Strategy::pct) return text;
  text += fmt::format(
      ". Each finds a bug of depth {} with a chance of at least 1 in {} ({}, {}); together: {:.1f} "
      "%",
      sample.depth, odds_text(sample.bound), grouped(sample.contexts, "context"),
      grouped(sample.steps, "contested step"), 100 * sample.promise());
  if (sample.longer_runs > 0)
    text += fmt::format(", without {} that went on for longer", grouped(sample.longer_runs, "run"));
  return text;
}

}  // namespace gang::harness
