// Link faults: how they affect data on its way.
#pragma once

#include <map>
#include <vector>

#include "sim/injection/fault_record.h"
#include "sim/matching/interference.h"

namespace gang::sim {

class LinkFaults final : public LinkInterference {
 public:
  LinkFaults(World& world, FaultRecord& record);

  // `armed` must be a link fault. One per fault and source.
  void add(const ArmedFault& armed);
  bool empty() const noexcept { return links_.empty(); }

  // Whether collectives cross slow links as a whole.
  bool slows_collectives() const noexcept { return slows_collectives_; }

  // No further faults affect the links of the rank.
  void heal(int rank);

  // The current context is about to call a collective that crosses slow links: blocks.
  void cross_slow_links(Task& task, const GangState& gang, const Operation& operation);

  void copy_late(PendingOperation& pending, const CallFaults& faults) override;
  void send_late(const Task& task, const CallFaults& faults) override;
  LinkFate fate_of(const PendingOperation& send) override;
  LinkFate fate_of(const Crossing& crossing, const Collective& call) override;
  void corrupt_message(const Elements& payload, const ArmedFault& fault) override;
  bool holds(const GangState& gang) override;
  std::vector<int> cut_off(const GangState& gang) const override;
  std::vector<int> unreachable(const GangState& gang,
                               std::span<Task* const> present) const override;

 private:
  bool is_active(const ArmedFault& link) const;
  bool crosses(const ArmedFault& link, int from, int to) const;
  bool copies_late(const PendingOperation* member) const;
  bool cuts(const ArmedFault& link, const GangState& gang) const;
  LinkFate fate_on_links(const Crossing& crossing, const Collective& call);
  LinkFate fate_on(ArmedFault& link, const Crossing& crossing, const Collective& call);

  World& world_;
  FaultRecord& record_;
  std::vector<ArmedFault> links_;
  bool slows_collectives_ = false;
  std::vector<bool> is_healed_;                // by rank
  std::map<int, TimePoint> sends_late_until_;  // by rank
  TimePoint last_late_copy_{0};
};

}  // namespace gang::sim
