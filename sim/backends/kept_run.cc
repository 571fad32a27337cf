#include "sim/backends/kept_run.h"

#include <utility>

#include "gang/error.h"
#include "sim/engine/engine.h"

namespace gang::sim {

EndedRun::EndedRun() = default;
EndedRun::EndedRun(std::unique_ptr<SimulationOptions> of, std::unique_ptr<Engine> by)
    : options(std::move(of)), engine(std::move(by)) {}
EndedRun::EndedRun(EndedRun&&) noexcept = default;
EndedRun& EndedRun::operator=(EndedRun&&) noexcept = default;
EndedRun::~EndedRun() = default;

KeptRun::KeptRun(Engine& engine)
    : kept_(std::make_shared<EndedRun>()), runtime_(kept_, &engine.runtime()) {}

void end_of_run(EndedRun run) {
  Engine& engine = *run.engine;
  auto* const gangs =
      engine.has_root_gangs() ? dynamic_cast<KeptRun*>(&engine.root_gangs()) : nullptr;
  if (gangs == nullptr) return;
  // The engine owns `gangs`, which let go of it: what is left is other people's.
  const std::shared_ptr<EndedRun> kept = std::move(gangs->kept_);
  gangs->runtime_.reset();
  *kept = std::move(run);
}

void throw_ended(std::string_view what) {
  throw InvalidOperation(std::string(what) + " was used after the end of its simulation");
}

}  // namespace gang::sim
