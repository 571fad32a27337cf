#include "harness/run/exploration.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/run/exhaustive_runs.h"
#include "harness/run/fault_check.h"
#include "sim/schedule/guide.h"
#include "sim/schedule/step_class.h"

namespace gang::harness {
namespace {

// The work that the threads share.
class Runs {
 public:
  Runs(const Program& program, const RunSpecification& specification,
       const ExplorationOptions& options, std::chrono::steady_clock::time_point began)
      : program_(program), specification_(specification), options_(options), began_(began) {}

  // Whether another run may begin.
  bool has_time() const {
    return !options_.budget || std::chrono::steady_clock::now() - began_ < *options_.budget;
  }

  // Runs seed after seed, until none is left that could be the first to fail.
  void work() {
    const auto guide = std::make_shared<sim::Guide>();  // watches
    while (has_time()) {
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
    Exploration exploration{.coverage = std::move(coverage_), .failure = std::move(failure_)};
    if (exploration.failure) exploration.claim = Claim::found;
    if (classes_.empty()) return exploration;
    Sample& sample = exploration.sample.emplace();
    for (const auto& [step_class, runs] : classes_) {
      sample.runs += runs;
      ++sample.classes;
      if (runs == 1) ++sample.seen_once;
    }
    return exploration;
  }

 private:
  void run_one(std::uint64_t index, const std::shared_ptr<sim::Guide>& guide) {
    RunSpecification specification = bounded(specification_);
    specification.options.seed += index;
    const bool is_watched = can_be_exhaustive(specification);
    RunResult result = run(program_, specification, {.guide = is_watched ? guide : nullptr});
    const bool fails = is_failure(result);
    const bool has_class = is_watched && !guide->is_full();
    const std::uint64_t step_class = has_class ? sim::class_of(guide->log()) : 0;
    const std::lock_guard lock{mutex_};
    coverage_.add(result);
    if (has_class) ++classes_[step_class];
    if (!fails || index > first_failure_.load()) return;
    lower(index);
    failure_ = std::move(result);
  }

  void lower(std::uint64_t index) {
    if (index < first_failure_.load()) first_failure_.store(index);
  }

  const Program& program_;
  const RunSpecification& specification_;
  const ExplorationOptions& options_;
  const std::chrono::steady_clock::time_point began_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> first_failure_{~std::uint64_t{0}};
  mutable std::mutex mutex_;  // of what follows
  ExplorationCoverage coverage_;
  std::optional<RunResult> failure_;
  std::map<std::uint64_t, std::uint64_t> classes_;  // runs of each
  std::exception_ptr error_;
};

}  // namespace

void ExplorationCoverage::add(const RunResult& result) {
  const sim::Report& report = result.report;
  ++runs;
  rank_operations += report.counts.rank_operations;
  if (report.fault_plan)
    for (const sim::Fault& fault : report.fault_plan->faults)
      kinds[std::string{to_string(fault.kind)}].planned += fault.ranks.size();
  if (report.outcome == sim::Outcome::completed && report.findings.empty()) ++completed;
  if (report.faults.empty()) return;
  ++with_faults;
  if (!report.findings.empty() && result.uncontained.empty()) ++typed_errors;
  if (corrupted_silently(report)) ++corrupted;
  for (const sim::FiredFault& fired : report.faults) {
    OfKind& kind = kinds[std::string{to_string(report.fault_plan->faults[fired.fault].kind)}];
    ++kind.fired;
    kind.places.insert(fired.place.empty() ? fired.description : fired.place);
  }
}

void ExplorationCoverage::add(const ExplorationCoverage& other) {
  runs += other.runs;
  rank_operations += other.rank_operations;
  completed += other.completed;
}

bool is_failure(const RunResult& result) {
  return result.specification.faults ? !result.uncontained.empty() : !result.holds();
}

namespace {

// Calls `progress` now and then.
class Reporter {
 public:
  explicit Reporter(const std::function<void(const ExplorationCoverage&)>& progress)
      : progress_(progress) {}

  void report(const ExplorationCoverage& coverage) {
    const auto now = std::chrono::steady_clock::now();
    if (!progress_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    progress_(coverage);
  }

 private:
  const std::function<void(const ExplorationCoverage&)>& progress_;
  std::chrono::steady_clock::time_point next_ =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
};

// Random runs in several threads.
Exploration sample(Runs& runs, int jobs, Reporter& reporter) {
  std::atomic<int> working{jobs};
  {
    std::vector<std::jthread> threads;
    for (int job = 0; job < jobs; ++job)
      threads.emplace_back([&runs, &working] {
        runs.work();
        --working;
      });
    while (working.load() > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      reporter.report(runs.coverage());
    }
  }
  return runs.take();
}

}  // namespace

Exploration explore(const Program& program, const RunSpecification& specification,
                    const ExplorationOptions& options,
                    const std::function<void(const ExplorationCoverage&)>& progress) {
  const auto began = std::chrono::steady_clock::now();
  Reporter reporter{progress};
  Exploration exploration;
  const bool is_exhaustive = options.strategy == Strategy::exhaustive;
  if (options.strategy != Strategy::random && can_be_exhaustive(specification)) {
    // Half of the budget, where random runs can take over.
    const std::uint64_t share = is_exhaustive ? 1 : 2;
    run_exhaustively(
        program, specification,
        [&] {
          reporter.report(exploration.coverage);
          const bool has_time =
              !options.budget || std::chrono::steady_clock::now() - began < *options.budget / share;
          return exploration.coverage.runs < (options.schedules + share - 1) / share && has_time;
        },
        exploration);
  }
  if (exploration.claim == Claim::sampled && !is_exhaustive) {
    RunSpecification random = specification;
    if (random.schedule == ScheduleChoice::round_robin) random.schedule = ScheduleChoice::random;
    ExplorationOptions left = options;
    left.schedules -= std::min(exploration.coverage.runs, options.schedules - 1);
    Runs runs{program, random, left, began};
    Exploration sampled = sample(runs, options.jobs, reporter);
    sampled.coverage.add(exploration.coverage);
    sampled.every = std::move(exploration.every);
    sampled.results = exploration.results;
    exploration = std::move(sampled);
  }
  exploration.wall_time = std::chrono::steady_clock::now() - began;
  return exploration;
}

}  // namespace gang::harness
