// The Gang of a simulated rank.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gang/gang.h"
#include "gang/recycled.h"
#include "sim/engine/engine.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

struct CallFaults;
class SimWork;

// One rank's handle of a simulated gang. Listed in its rank's state while it lives.
class SimGang final : public Gang {
 public:
  SimGang(std::shared_ptr<GangState> state, int rank, RankState& owner);
  ~SimGang() override;

  const std::shared_ptr<GangState>& state() const noexcept { return state_->handles.gang(); }
  SimGang* next_of_rank() const noexcept { return next_; }

  // The last operation called on this handle, and the run-wide number of that call; 0 if there was
  // none.
  LastCall last_call() const;
  std::uint64_t last_called_at() const noexcept {
    return is_message_last() ? messages_->last.at : last_collective_.at;
  }

  // The call by which this rank made the gang; line 0 for a root gang, which no call makes.
  const CallSite& made_at() const noexcept { return state_->making_places.of(rank()); }

 protected:
  Work do_start(Operation& operation) override;
  Received do_run(Operation& operation) override;
  std::shared_ptr<Gang> do_shrink(const ShrinkOptions& options, const CallSite& call_site) override;
  void do_abort() override;
  void do_close() noexcept override {}
  void add_child(const std::shared_ptr<Gang>&) override {}  // it is listed with its rank
  void close_children() noexcept override;

 private:
  // The parts of a call that reports may need after it has returned.
  struct CallNote {
    std::uint64_t at = 0;
    CallSite call_site;
  };

  // Only for handles that send or receive, which most do not.
  struct Messages : Recycled<Messages> {
    std::uint64_t next = 0;
    CallNote last;
    OperationKind last_kind = OperationKind::send;
  };

  [[gnu::always_inline]] inline World& world() const;
  RankState& owner() const noexcept;
  bool is_message_last() const noexcept {
    return messages_ != nullptr && messages_->last.at > last_collective_.at;
  }
  std::uint64_t next_number(OperationKind kind) const noexcept {
    if (!is_point_to_point(kind)) return next_sequence_;
    return messages_ != nullptr ? messages_->next : 0;
  }
  template <bool is_plain>
  [[gnu::always_inline]] inline Received run(World& world, Operation& operation);
  void mark_children_closed() noexcept;
  // run<false>, apart from the plain way, which it would make dearer.
  [[gnu::noinline]] Received run_watched(World& world, Operation& operation);
  void note_end_of_call(World& world, PendingOperation& pending, bool had_ended);
  [[gnu::cold]] void note_use_at_once(World& world, Operation& operation);
  [[gnu::always_inline]] inline void number(World& world, Operation& operation);
  // Whether it has ended. For `is_plain`, see Engine::are_calls_plain.
  template <bool is_plain>
  [[gnu::always_inline]] inline bool post(World& world, PendingOperation& pending);
  // Waits for its end, unless it `has_ended`.
  template <bool is_plain>
  [[gnu::always_inline]] inline Received finish(World& world, PendingOperation& pending,
                                                bool has_ended);
  [[gnu::noinline]] Received run_monitored_barrier(PendingOperation& pending);
  bool counts_towards_faults(World& world) const noexcept;
  CallFaults faults_before(World& world, Operation& operation);
  [[gnu::noinline]] Received run_under_faults(World& world, Operation& operation);
  // do_start, apart from the plain way.
  [[gnu::noinline]] Work start_watched(World& world, Operation& operation);
  // Makes the work of a started operation, and posts it. `faults`: of a call that counts towards
  // them; else null. A work that fails is left in `failed`.
  template <bool is_plain>
  [[gnu::always_inline]] inline std::shared_ptr<SimWork> posted_work(
      World& world, Operation& operation, const CallFaults* faults,
      std::shared_ptr<SimWork>& failed);

  // Each rank holds several, in worlds of a million: nothing is kept here that another place tells.
  // The first three are in Gang's padding.
  bool is_refused_;       // held by a restarted rank whose incarnation no peer knows
  bool is_used_ = false;  // a context is blocked in a call
  OperationKind last_collective_kind_ = OperationKind::barrier;
  GangState* const state_;  // one of the owners
  std::uint64_t next_sequence_ = 0;
  CallNote last_collective_;
  SimGang* next_ = nullptr;
  SimGang* previous_ = nullptr;
  std::unique_ptr<Messages> messages_;  // null until the first
};

// The gangs that a rank holds, in order of creation.
std::vector<std::shared_ptr<GangState>> gangs_held_by(const RankState& rank);

// The last operation that the rank has called.
LastCall last_call_of(const RankState& rank);

}  // namespace gang::sim
