#include "harness/run/exploration.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "harness/run/fault_check.h"

namespace gang::harness {
namespace {

// A run that takes longer would not end.
constexpr std::uint64_t most_switches = 5'000'000;

// The work that the threads share.
class Runs {
 public:
  Runs(const Program& program, const RunSpecification& specification,
       const ExplorationOptions& options)
      : program_(program), specification_(specification), options_(options) {}

  // Runs seed after seed, until none is left that could be the first to fail.
  void work() {
    for (;;) {
      const std::uint64_t index = next_.fetch_add(1);
      if (index >= options_.schedules || index > first_failure_.load()) return;
      try {
        run_one(index);
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
    return {.coverage = std::move(coverage_), .failure = std::move(failure_)};
  }

 private:
  void run_one(std::uint64_t index) {
    RunSpecification specification = specification_;
    specification.options.seed += index;
    if (specification.options.step_limit == sim::SimulationOptions{}.step_limit)
      specification.options.step_limit = most_switches;
    RunResult result = run(program_, specification);
    const bool fails = is_failure(result);
    const std::lock_guard lock{mutex_};
    coverage_.add(result);
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
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> first_failure_{~std::uint64_t{0}};
  mutable std::mutex mutex_;  // of what follows
  ExplorationCoverage coverage_;
  std::optional<RunResult> failure_;
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

bool is_failure(const RunResult& result) {
  return result.specification.faults ? !result.uncontained.empty() : !result.holds();
}

Exploration explore(const Program& program, const RunSpecification& specification,
                    const ExplorationOptions& options,
                    const std::function<void(const ExplorationCoverage&)>& progress) {
  const auto began = std::chrono::steady_clock::now();
  Runs runs{program, specification, options};
  std::atomic<int> working{options.jobs};
  {
    std::vector<std::jthread> threads;
    for (int job = 0; job < options.jobs; ++job)
      threads.emplace_back([&runs, &working] {
        runs.work();
        --working;
      });
    while (progress && working.load() > 0) {
      for (int tick = 0; tick < 20 && working.load() > 0; ++tick)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      progress(runs.coverage());
    }
  }
  Exploration exploration = runs.take();
  exploration.wall_time = std::chrono::steady_clock::now() - began;
  return exploration;
}

}  // namespace gang::harness
