// The run's view of a gang that a foreign backend implements.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "gang/forwarding_gang.h"
#include "gang/runtime.h"
#include "sim/matching/interference.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

struct World;
class Strikes;

// The run's state of each gang, shared by its members: the name and number that traces and faults
// refer to. Messages and results stay with the gang itself.
class ObservedGangs {
 public:
  explicit ObservedGangs(World& world) : world_(world) {}

  // The `ordinal`-th gang created from `parent` (null: the root), as one of its members describes
  // it.
  std::shared_ptr<GangState> find(const GangState* parent, std::uint64_t ordinal,
                                  const GangInfo& info);

 private:
  using Key = std::tuple<std::int64_t, std::uint64_t, std::vector<int>>;

  World& world_;
  std::map<Key, std::weak_ptr<GangState>> gangs_;
};

// State shared by all observed gangs of a run.
struct Observation {
  World& world;
  ObservedGangs& gangs;
  Strikes& strikes;
  std::shared_ptr<Runtime> runtime;  // outlives the run on their behalf
};

// Counts calls, traces blocking ones (started calls end unseen, on the gang's own threads), and
// triggers the plan's faults before, inside and after a call. Refuses calls of a restarted rank.
// After the run, every call throws InvalidOperation.
//
// Source: the faults of sim/faults, triggered at the same points.
class ObservedGang final : public ForwardingGang {
 public:
  ObservedGang(const Observation& observation, std::shared_ptr<GangState> state,
               std::shared_ptr<Gang> inner);
  ~ObservedGang() override;

 protected:
  Work do_start(Operation& operation) override;
  Received do_run(Operation& operation) override;
  std::shared_ptr<Gang> do_shrink(const ShrinkOptions& options, const CallSite& call_site) override;
  void do_abort() override;
  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override;

 private:
  void begin(Operation& operation);
  void number(Operation& operation) noexcept;
  void note(const Collective& call);
  void abandon(RankState& owner);
  CallFaults faults_before(Operation& operation);
  void abort_as_told();
  // Inline for the same reason as SimGang::finish.
  [[gnu::always_inline]] inline Received run_unrecorded(Operation& operation);
  std::exception_ptr run(Operation& operation, PendingOperation& pending);
  Received run_under_faults(Operation& operation);

  Observation observation_;
  std::shared_ptr<GangState> state_;
  bool is_refused_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t next_message_ = 0;
  std::uint64_t children_made_ = 0;
};

}  // namespace gang::sim
