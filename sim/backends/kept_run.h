// The end of a run whose gangs are a real backend's: they hold on to its engine, and may outlive
// it.
#pragma once

#include <memory>
#include <string_view>

#include "gang/runtime.h"
#include "sim/engine/engine.h"

namespace gang::sim {

class Engine;
struct SimulationOptions;

// An engine, and the options that it looks at; the engine is the first to go.
struct EndedRun {
  EndedRun(std::unique_ptr<SimulationOptions> of, std::unique_ptr<Engine> by);
  EndedRun();
  EndedRun(EndedRun&&) noexcept;
  EndedRun& operator=(EndedRun&&) noexcept;
  ~EndedRun();

  std::unique_ptr<SimulationOptions> options;
  std::unique_ptr<Engine> engine;
};

// Part of the root gangs of such a run. What holds `runtime()` keeps the engine: it goes with the
// last of them, after the run.
class KeptRun {
 public:
  explicit KeptRun(Engine& engine);
  KeptRun(const KeptRun&) = delete;
  KeptRun& operator=(const KeptRun&) = delete;
  virtual ~KeptRun() = default;

  // The engine's.
  const std::shared_ptr<Runtime>& runtime() const noexcept { return runtime_; }

 private:
  friend void end_of_run(EndedRun run);

  std::shared_ptr<EndedRun> kept_;    // empty until the run has ended
  std::shared_ptr<Runtime> runtime_;  // shares `kept_`
};

// The run has ended and its report is made: nobody needs it but gangs that outlive it.
void end_of_run(EndedRun run);

[[noreturn, gnu::cold, gnu::noinline]] void throw_ended(std::string_view what);

// Throws InvalidOperation "`what` was used after the end of its simulation" where it is.
inline void require_running(const Engine& engine, std::string_view what) {
  if (engine.current().id == outside_task) [[unlikely]]
    throw_ended(what);
}

}  // namespace gang::sim
