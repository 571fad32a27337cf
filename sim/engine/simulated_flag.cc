#include "sim/engine/simulated_flag.h"

#include <atomic>
#include <utility>

#include "gang/recycled.h"
#include "sim/engine/engine.h"
#include "sim/schedule/guide.h"

namespace gang::sim {
namespace {

class SimulatedFlag final : public RuntimeFlag, public Recycled<SimulatedFlag> {
 public:
  // What the operation does comes after this.
  SimulatedFlag(Engine& engine, const CallSite& call_site)
      : engine_(engine),
        call_site_(call_site),
        key_(engine.choices().guide() == nullptr ? 0 : engine.choices().guide()->new_object()) {
    if (Guide* guide = engine.choices().guide()) guide->publish(key_);
  }

  void set() override {
    const Engine::Guard guard(engine_);
    Choices& choices = engine_.choices();
    if (choices.looks_at_once()) engine_.scheduling_point();
    is_set_ = true;
    engine_.note_progress();
    if (is_looked_at_early_) choices.note_end_of_early_look();
    Guide* const guide = choices.guide();
    if (guide == nullptr) return;
    tell(*guide, AccessKind::arrival, AccessMode::arrive);
    guide->publish(key_);
  }

  bool is_set() const override { return is_set_; }

  bool look() override {
    const Engine::Guard guard(engine_);
    return look_here();
  }

  bool look_after_others() override {
    const Engine::Guard guard(engine_);
    require_running(engine_, "a rank");
    if (is_set_) return true;
    if (may_go_on()) return false;
    if (engine_.choices().looks_at_once() && !engine_.current().rare().has_asked_time)
      engine_.choices().note_choice_point(Unguided::many_polls);
    engine_.poll(nullptr);
    const bool is_set = look_here();
    if (!is_set) ++engine_.current().make_rare().polls;
    return is_set;
  }

 private:
  // The first look in vain, and some after it, give way only where the schedule says so.
  bool may_go_on() {
    Choices& choices = engine_.choices();
    Task& self = engine_.current();
    const bool is_first = !std::exchange(was_looked_at_, true);
    const RareTaskState& known = self.rare();
    if (known.has_asked_time || !choices.returns_at_once(is_first, known.polls)) return false;
    if (!std::exchange(is_looked_at_early_, true)) choices.note_early_look();
    if (!is_first) ++self.make_rare().polls;
    return true;
  }

  bool look_here() {
    Choices& choices = engine_.choices();
    if (Guide* guide = choices.guide()) {
      tell(*guide, AccessKind::look, AccessMode::look);
      if (is_set_) guide->join(key_);
    }
    if (!is_set_) {
      choices.note_open_choice();
      return false;
    }
    choices.note_guided_choice();
    engine_.current().end_polls();
    return true;
  }

  void tell(Guide& guide, AccessKind kind, AccessMode mode) const {
    const RankState* rank = engine_.current().rank;
    guide.access({.kind = kind,
                  .mode = mode,
                  .rank = rank == nullptr ? -1 : rank->rank,
                  .object = key_,
                  .site = call_site_});
  }

  Engine& engine_;
  const CallSite call_site_;
  const StepKey key_;
  std::atomic<bool> is_set_ = false;
  bool was_looked_at_ = false;
  bool is_looked_at_early_ = false;
};

}  // namespace

std::unique_ptr<RuntimeFlag> make_simulated_flag(Engine& engine, const CallSite& call_site) {
  return std::make_unique<SimulatedFlag>(engine, call_site);
}

}  // namespace gang::sim
