#include "sim/matching/foreign_gangs.h"

#include <utility>

#include "sim/state/world.h"

namespace gang::sim {

ForeignGangs::ForeignGangs(World& world)
    : kept_(std::make_shared<std::shared_ptr<void>>()), runtime_(kept_, world.gangs_runtime) {}

void ForeignGangs::keep(std::shared_ptr<void> run) {
  // The run owns this object, which releases the run here: from now on only others keep it alive.
  const std::shared_ptr<std::shared_ptr<void>> kept = std::move(kept_);
  runtime_.reset();
  *kept = std::move(run);
}

}  // namespace gang::sim
