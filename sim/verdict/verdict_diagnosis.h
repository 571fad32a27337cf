// Explains what matching finds wrong.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "sim/matching/diagnosis.h"
#include "sim/report/report.h"

namespace gang::sim {

struct World;

class VerdictDiagnosis final : public Diagnosis {
 public:
  explicit VerdictDiagnosis(World& world) noexcept : world_(world) {}

  std::shared_ptr<const BreakCause> mismatch(GangState& gang,
                                             std::span<PendingOperation* const> members) override;
  void timed_out(const PendingOperation& pending, BreakCause& cause) override;
  void failure_reaches(const PendingOperation& pending) override;
  void used_at_once(const PendingOperation& pending) override;
  std::size_t dropped(const PendingOperation& pending) override;
  void unreceived(const GangState& gang) override;

  // The timeouts that did not end a program, and so are not among its `findings`. Once.
  std::vector<Finding> take_handled(const std::vector<Finding>& findings);

 private:
  World& world_;
  std::vector<std::shared_ptr<const Finding>> timeouts_;
  std::map<std::uint32_t, std::size_t> used_at_once_;  // findings, by the index of the gang
};

}  // namespace gang::sim
