#include "harness/program/rank.h"

#include "sim/simulation.h"

namespace gang::harness {

Rank::Rank(sim::SimulatedRank& simulated, const RunContext& context) noexcept
    : context_(&context),
      root_(&simulated.root()),
      simulated_(&simulated),
      rank_(simulated.rank()),
      world_size_(simulated.world_size()),
      incarnation_(simulated.incarnation()) {}

Rank::Rank(const RankPlace& place, const RunContext& context) noexcept
    : context_(&context),
      root_(&place.root),
      runtime_(&place.runtime),
      rank_(place.rank),
      world_size_(place.world_size),
      incarnation_(place.incarnation) {}

Rank::Rank(const Rank& rank, const std::shared_ptr<Gang>& root) noexcept
    : context_(rank.context_),
      root_(&root),
      simulated_(rank.simulated_),
      runtime_(rank.runtime_),
      rank_(rank.rank_),
      world_size_(rank.world_size_),
      incarnation_(rank.incarnation_) {}

Runtime& Rank::runtime() { return simulated_ != nullptr ? simulated_->runtime() : *runtime_; }

bool Rank::faults_have_fired() const noexcept {
  return simulated_ != nullptr && simulated_->faults_have_fired();
}

std::shared_ptr<Gang> Rank::second_root() {
  return simulated_ != nullptr ? simulated_->second_root() : nullptr;
}

void Rank::stop_faults() noexcept {
  if (simulated_ != nullptr) simulated_->stop_faults();
}

sim::RandomStream Rank::random_stream(std::string_view name) const noexcept {
  return {context_->seed, name, static_cast<std::uint64_t>(rank_)};
}

void Rank::output(std::string_view name, const TensorView& values) {
  if (!values.is_contiguous())
    throw InvalidArgument("output '" + std::string{name} + "' is not contiguous");
  context_->recorder.record(rank_, name, values);
}

void Rank::note(std::string note) { context_->recorder.record_note(rank_, std::move(note)); }

void Rank::wrong_result(std::string message, const CallSite& call_site) {
  context_->recorder.record_wrong_result(rank_, std::move(message), location_of(call_site));
}

}  // namespace gang::harness
