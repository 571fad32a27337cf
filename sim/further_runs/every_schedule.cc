#include "sim/further_runs/every_schedule.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "sim/further_runs/contest_text.h"
#include "sim/further_runs/parallel_waves.h"

namespace gang::sim {

namespace {

using End = EverySchedule::End;

// How many runs are made to find one that holds where the first one fails.
constexpr std::uint64_t most_contrasts = 64;

// Of a run that is shown beside another one: what its contexts did takes some 100 bytes each.
constexpr std::size_t most_shown_accesses = 200'000;

bool is_short(const Guide& guide) noexcept {
  return !guide.is_full() && guide.log().accesses.size() <= most_shown_accesses;
}

bool is_too_large(const SimulationOptions& options) noexcept {
  return options.world_size > most_explored_ranks;
}

// One run may be enough: nothing in it could have come otherwise.
EverySchedule run_once(const SimulationOptions& options, const RunAgain& again,
                       const ScheduleRan& ran) {
  EverySchedule seen{.classes = 1};
  const Report report = again(another_run(options));
  const bool goes_on = ran({report, nullptr, std::nullopt});
  if (report.schedules == Schedules::every) return seen;
  if (!goes_on) {
    seen.end = End::stopped;
  } else if (is_too_large(options)) {
    seen.end = End::too_large;
  } else {
    seen.end = End::unguided;
    seen.unguided = report.unguided;
  }
  return seen;
}

void take_figures(const Reduction& reduction, EverySchedule& seen) {
  seen.classes = reduction.classes();
  seen.cut = reduction.cut();
  seen.contests = reduction.contests();
  seen.restarts = reduction.restarts();
  seen.decisive = reduction.decisive();
}

// What an exploration has allocated, for the next one of its thread: of many small ones, each would
// spend a fifth of its time on that.
struct SearchMemory {
  Reduction reduction;
  ParallelWaves::Slots slots;

  // Whether it is worth keeping, and no more than some megabytes.
  bool is_small() const noexcept {
    constexpr std::size_t most_slots = 16;
    constexpr std::size_t most_marks = 10'000;
    return slots.size() <= most_slots && std::ranges::all_of(slots, [](const auto& slot) {
             const Guide* const guide = slot->run.options.guide.get();
             return guide == nullptr || guide->log().marks.capacity() <= most_marks;
           });
  }
};

// Kept for the next exploration of this thread; null while one uses it. Never destroyed: std::exit
// destroys objects of the thread, but a simulation goes on after it.
constinit thread_local SearchMemory* spare_memory = nullptr;

struct SpareMemoryFreedAtEnd {
  SpareMemoryFreedAtEnd() noexcept {}  // NOLINT(modernize-use-equals-default): a const object
  ~SpareMemoryFreedAtEnd() { delete std::exchange(spare_memory, nullptr); }
};

class LentMemory {
 public:
  LentMemory() : memory_(std::exchange(spare_memory, nullptr)) {
    if (memory_ == nullptr) memory_ = std::make_unique<SearchMemory>();
  }
  ~LentMemory() {
    if (!memory_->is_small() || spare_memory != nullptr) return;
    memory_->reduction.begin_another();
    thread_local const SpareMemoryFreedAtEnd freed;
    spare_memory = memory_.release();
  }
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;

  SearchMemory& operator*() const noexcept { return *memory_; }

 private:
  std::unique_ptr<SearchMemory> memory_;
};

// The exploration in one direction: from run to run.
class Search {
 public:
  Search(const SimulationOptions& options, const RunAgain& again, const ScheduleRan& ran, int jobs,
         const RunHolds& holds, SearchMemory& memory)
      : options_(options),
        again_(again),
        ran_(ran),
        holds_(holds),
        waves_(another_run(options), again, jobs, memory.slots),
        reduction_(memory.reduction) {}

  EverySchedule run() {
    while (goes_on() && waves_.begin(reduction_))
      while (goes_on()) {
        GuidedRun* const made = waves_.next();
        if (made == nullptr) break;
        take(*made);
      }
    waves_.stop();
    if (reduction_.has_diverged()) seen_.end = End::diverged;
    if (reduction_.is_too_large()) seen_.end = End::too_large;
    if (!first_failure_) take_figures(reduction_, seen_);
    seen_.diverged_at = reduction_.diverged_at();
    if (seen_.end == End::stopped && seen_.decisive && !seen_.holds_otherwise) run_otherwise();
    return std::move(seen_);
  }

 private:
  bool goes_on() const noexcept {
    return (seen_.end == End::all_seen || contrasts_left_ > 0) && !reduction_.has_diverged() &&
           !reduction_.is_too_large();
  }

  void take(GuidedRun& made) {
    const Guide& guide = *made.options.guide;
    reduction_.learn(guide, made.reversals);
    if (reduction_.is_forgotten()) return;
    if (contrasts_left_ > 0) return contrast(*made.report, guide);
    seen_.unguided = unguided_in(*made.report, guide);
    if (seen_.unguided) seen_.end = End::unguided;
    if (guide.is_cut() || reduction_.has_diverged() || reduction_.is_too_large()) return;
    if (ran_({*made.report, &guide, reduction_.decisive()})) return;
    seen_.end = End::stopped;
    if (is_short(guide)) stopped_ = {end_of(*made.report), guide.log()};
    if (!reduction_.decisive() && !seen_.unguided && !holds(*made.report, guide)) begin_contrasts();
  }

  // The first run fails: which choice makes it fail is seen from one that holds.
  void begin_contrasts() {
    take_figures(reduction_, seen_);
    first_failure_ = true;
    contrasts_left_ = most_contrasts;
  }

  void contrast(const Report& report, const Guide& guide) {
    --contrasts_left_;
    if (guide.is_cut() || !reduction_.decisive() || !holds(report, guide)) return;
    contrasts_left_ = 0;
    seen_.decisive = reversed(*reduction_.decisive());
    note_otherwise(report, guide);
  }

  // The run that decides otherwise what was decisive for the last one.
  void run_otherwise() {
    const SimulationOptions guided = guided_run(options_);
    guided.guide->begin({.choices = reduction_.undecided()}, reduction_.known());
    const Report report = again_(guided);
    note_otherwise(report, *guided.guide);
  }

  void note_otherwise(const Report& report, const Guide& guide) {
    seen_.holds_otherwise = holds(report, guide);
    if (!stopped_ || !is_short(guide)) return;
    seen_.continuations = continuations_of(stopped_->log, guide.log(), *seen_.decisive);
    seen_.continuations->found.end = stopped_->end;
    seen_.continuations->otherwise.end = end_of(report);
  }

  bool holds(const Report& report, const Guide& guide) const {
    return holds_({report, &guide, reduction_.decisive()});
  }

  // The run that `ran` has stopped at.
  struct Stopped {
    std::string end;
    StepLog log;
  };

  const SimulationOptions& options_;
  const RunAgain& again_;
  const ScheduleRan& ran_;
  const RunHolds& holds_;
  ParallelWaves waves_;
  Reduction& reduction_;
  EverySchedule seen_;
  std::optional<Stopped> stopped_;
  bool first_failure_ = false;
  std::uint64_t contrasts_left_ = 0;
};

}  // namespace

SimulationOptions guided_run(const SimulationOptions& options) {
  SimulationOptions guided = another_run(options);
  guided.scheduler = SchedulerKind::guided;
  guided.guide = std::make_shared<Guide>();
  return guided;
}

std::optional<Unguided> unguided_in(const Report& report, const Guide& guide) {
  if (report.schedules == Schedules::every) return std::nullopt;
  if (!report.unguided && guide.log().is_incomplete) return Unguided::threads_on_gang;
  return report.unguided;
}

bool can_be_guided(const SimulationOptions& options) noexcept {
  const bool is_told_of_faults = options.backend == SimulatedBackend::sim;
  return !is_too_large(options) && options.context != ContextKind::parallel &&
         (is_told_of_faults || options.faults == nullptr);
}

bool completed_without_findings(const ExploredRun& run) noexcept { return run.report.holds(); }

std::string end_of(const Report& report) {
  return report.findings.empty() ? std::string(to_string(report.outcome))
                                 : report.findings.front().id;
}

EverySchedule run_every_schedule(const SimulationOptions& options, const RunAgain& again,
                                 const ScheduleRan& ran, int jobs, const RunHolds& holds) {
  if (!can_be_guided(options)) return run_once(options, again, ran);
  const LentMemory memory;
  return Search(options, again, ran, jobs, holds, *memory).run();
}

}  // namespace gang::sim
