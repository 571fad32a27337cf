#include "sim/further_runs/parallel_waves.h"

#include <utility>

namespace gang::sim {
namespace {

// How often a thread looks again before it gives its core away.
constexpr int most_looks = 2000;

template <typename Holds>
void await(const Holds& holds) {
  for (int looks = 0; !holds(); ++looks)
    if (looks >= most_looks) std::this_thread::yield();
}

// A report that is made where it stays.
struct ReportInPlace {
  const RunAgain& again;
  const SimulationOptions& options;

  operator Report() const { return again(options); }  // NOLINT(google-explicit-constructor)
};

}  // namespace

ParallelWaves::ParallelWaves(const SimulationOptions& options, const RunAgain& again, int jobs,
                             Slots& slots)
    : options_(options), again_(again), jobs_(jobs), slots_(slots) {
  slots_.reserve(most_runs);
}

ParallelWaves::~ParallelWaves() {
  stop();
  is_over_ = true;
  ++wave_;
  wave_.notify_all();
}

ParallelWaves::Slot& ParallelWaves::slot(std::size_t index) {
  if (index == slots_.size()) slots_.push_back(std::make_unique<Slot>());
  if (index == begun_slots_ && (index == 0 || jobs_ > 1)) {
    SimulationOptions& options = run_of(*slots_[index]).options;
    std::shared_ptr<Guide> guide = std::move(options.guide);
    options = options_;
    options.scheduler = SchedulerKind::guided;
    options.guide = guide.use_count() == 1 ? std::move(guide) : std::make_shared<Guide>();
    ++begun_slots_;
  }
  return *slots_[index];
}

bool ParallelWaves::begin(Reduction& reduction) {
  stop();
  std::size_t size = 0;
  for (; size < most_runs; ++size) {
    Slot& slot = this->slot(size);
    if (!reduction.next(slot.beginning)) break;
    slot.known = &reduction.known();
    slot.error = nullptr;
    set(slot.is_made, false);
  }
  handed_over_ = 0;
  set(size_, size);
  set(begun_, std::size_t{0});  // from here on, runs begin
  if (size > most_alone && threads_.empty())
    for (int job = 1; job < jobs_; ++job) threads_.emplace_back([this] { work(); });
  if (size > 1 && !threads_.empty()) {
    ++wave_;
    wave_.notify_all();
  }
  return size > 0;
}

GuidedRun* ParallelWaves::next() {
  if (handed_over_ == size_) return nullptr;
  Slot& slot = *slots_[handed_over_++];
  while (!slot.is_made && make_next()) {
  }
  await([&slot] { return slot.is_made.load(); });
  if (slot.error) std::rethrow_exception(slot.error);
  return &run_of(slot);
}

void ParallelWaves::stop() {
  handed_over_ = 0;
  set(size_, handed_over_);
  set(begun_, most_runs);
  await([this] { return working_.load() == 0; });
}

void ParallelWaves::work() {
  std::uint32_t seen = 0;
  while (!is_over_) {
    for (int looks = 0; wave_.load() == seen && looks < most_looks; ++looks) {
    }
    wave_.wait(seen);
    seen = wave_;
    ++working_;
    while (make_next()) {
    }
    --working_;
  }
}

// Makes the first run that has not begun; whether there was one.
bool ParallelWaves::make_next() {
  if (begun_ >= size_) return false;
  const std::size_t index = begin_one();
  if (index >= size_) return false;
  make(*slots_[index]);
  return true;
}

void ParallelWaves::make(Slot& slot) const {
  GuidedRun& run = run_of(slot);
  try {
    run.options.guide->begin(std::move(slot.beginning), *slot.known);
    run.report.emplace(ReportInPlace{again_, run.options});
    const Guide& guide = *run.options.guide;
    run.reversals.clear();
    if (!guide.has_diverged() && !guide.is_full() && HappensBefore::fits(guide.log()) &&
        contains(*slot.known, guide.log().knowledge))
      run.reversals.read(guide.log(), *slot.known, guide.beginning().first_new_step());
  } catch (...) {
    slot.error = std::current_exception();
  }
  set(slot.is_made, true);
}

}  // namespace gang::sim
