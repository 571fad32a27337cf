// Explains what matching finds wrong.
#pragma once

#include "sim/matching/diagnosis.h"

namespace gang::sim {

struct World;

class VerdictDiagnosis final : public Diagnosis {
 public:
  explicit VerdictDiagnosis(World& world) noexcept : world_(world) {}

  std::shared_ptr<const BreakCause> mismatch(GangState& gang,
                                             std::span<PendingOperation* const> members) override;
  void timed_out(const PendingOperation& pending, BreakCause& cause) override;
  void failure_reaches(const PendingOperation& pending) override;
  std::size_t dropped(const PendingOperation& pending) override;
  void unreceived(const GangState& gang) override;

 private:
  World& world_;
};

}  // namespace gang::sim
