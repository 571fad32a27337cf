// A gang of a simulated world that is not the simulator's own, as the run sees it.
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

// What the run knows of each gang, one for all of its members: its name and number, under which it
// is traced and met by faults. Messages and results are the gang's own.
class ObservedGangs {
 public:
  explicit ObservedGangs(World& world) : world_(world) {}

  // The `ordinal`-th gang that was made from `parent` (null: the root), as one of its members knows
  // it.
  std::shared_ptr<GangState> find(const GangState* parent, std::uint64_t ordinal,
                                  const GangInfo& info);

 private:
  using Key = std::tuple<std::int64_t, std::uint64_t, std::vector<int>>;

  World& world_;
  std::map<Key, std::weak_ptr<GangState>> gangs_;
};

// What all observed gangs of a run share.
struct Observation {
  World& world;
  ObservedGangs& gangs;
  Strikes& strikes;
  std::shared_ptr<Runtime> runtime;  // keeps them after the run
};

// Counts what is called, traces blocking calls (started ones end on threads of the gang's, unseen),
// and lets faults of the plan happen before, inside and after a call. A rank that was started again
// is refused. After the run every call is an InvalidOperation.
//
// Source: the faults are those of sim/faults, at the same moments.
class ObservedGang final : public ForwardingGang {
 public:
  ObservedGang(const Observation& observation, std::shared_ptr<GangState> state,
               std::shared_ptr<Gang> inner);

 protected:
  Work do_start(Operation& operation) override;
  Received do_run(Operation& operation) override;
  std::shared_ptr<Gang> do_shrink(const ShrinkOptions& options, const CallSite& call_site) override;
  void do_abort() override;
  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override;

 private:
  void number(Operation& operation) noexcept;
  CallFaults faults_before(Operation& operation);
  void abort_as_told();
  // Inline, as SimGang::finish is and for the same reason.
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
