// Guided runs that several threads make.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "sim/further_runs/settled_run.h"
#include "sim/schedule/reduction.h"

namespace gang::sim {

// A run of a wave, and what it comes to.
struct GuidedRun {
  SimulationOptions options;  // with a guide of its own
  std::optional<Report> report;
  Reversals reversals;  // read, unless the log of the run is too long or the run went another way
};

// Makes runs that do not depend on each other, a wave of them at a time, and hands them over in
// their order as soon as each has been made: what comes of it does not depend on the number of
// threads.
class ParallelWaves {
 public:
  // A run of a wave, with what its guide and its reversals have allocated.
  struct Slot {
    GuidedRun run;  // of this slot's run, unless one is used for all
    Beginning beginning;
    const Knowledge* known = nullptr;
    std::exception_ptr error;
    std::atomic<bool> is_made{false};
  };
  using Slots = std::vector<std::unique_ptr<Slot>>;

  // The calling thread makes runs, too. `slots` are those of other waves that are over, if any;
  // they and `again` outlive this.
  ParallelWaves(const SimulationOptions& options, const RunAgain& again, int jobs, Slots& slots);
  ~ParallelWaves();
  ParallelWaves(const ParallelWaves&) = delete;
  ParallelWaves& operator=(const ParallelWaves&) = delete;

  // Begins a wave: all that `reduction` wants next, up to a limit. Returns whether there is a run.
  bool begin(Reduction& reduction);

  // The next run of the wave, once it has been made; null after the last. Throws what `again` threw
  // in it.
  GuidedRun* next();

  // Runs of the wave that have not begun are not made.
  void stop();

 private:
  static constexpr std::size_t most_runs = 64;
  static constexpr std::size_t most_alone = 4;  // no threads begin for smaller waves

  // Of what other threads read, where there are any.
  template <typename T>
  void set(std::atomic<T>& shared, T value) const noexcept {
    if (jobs_ == 1)
      shared.store(value, std::memory_order_relaxed);
    else
      shared = value;
  }
  std::size_t begin_one() noexcept {
    if (jobs_ > 1) return begun_.fetch_add(1);
    const std::size_t index = begun_.load(std::memory_order_relaxed);
    set(begun_, index + 1);
    return index;
  }
  Slot& slot(std::size_t index);
  void work();
  bool make_next();
  void make(Slot& slot) const;
  // One thread makes a run when the one before has been handed over, and uses its memory again.
  GuidedRun& run_of(Slot& slot) const noexcept {
    return jobs_ == 1 ? slots_.front()->run : slot.run;
  }

  const SimulationOptions options_;
  const RunAgain& again_;
  const int jobs_;
  Slots& slots_;
  std::size_t begun_slots_ = 0;  // have options_
  std::size_t handed_over_ = 0;
  std::atomic<std::size_t> begun_{0};
  std::atomic<std::size_t> size_{0};  // of the wave
  std::atomic<std::uint32_t> wave_{0};
  std::atomic<int> working_{0};
  std::atomic<bool> is_over_{false};
  std::vector<std::jthread> threads_;
};

}  // namespace gang::sim
