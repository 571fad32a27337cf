#include "sim/engine/context_ends.h"

#include <algorithm>
#include <cstdlib>
#include <exception>

#include "gang/error.h"
#include "sim/engine/engine.h"
#include "sim/schedule/guide.h"

namespace gang::sim {

void ContextEnds::end(Task& task) {
  engine_.contexts_.note_end(task);
  engine_.note_progress();
  if (Guide* guide = engine_.choices().guide()) guide->publish(guide->end_of(task.id));
  engine_.client_.context_ended(task);
  if (task.further && task.further->joiner != nullptr) engine_.wake(*task.further->joiner);
  if (engine_.parallel_ != nullptr) engine_.parallel_->ended();
}

Task& ContextEnds::make_way(const Task& ended) {
  ContextTable& contexts = engine_.contexts_;
  Task& next = contexts.left() == 0 ? contexts.outside() : engine_.pick_next(ended.id);
  engine_.current_ = &next;
  return next;
}

void ContextEnds::stay_frozen(Task& self) {
  engine_.suspend(self);
  leave(self);
  throw RunOver{};
}

void ContextEnds::leave(Task& self) {
  engine_.client_.unwinding(self);
  refuse(self, Refusal::silent);
}

void ContextEnds::refuse(Task& self, Refusal refusal) {
  // In all, so that the end of a large world does not take long; but enough for each context to end
  // a loop that catches everything.
  constexpr std::size_t most_in_all = 200'000;
  constexpr std::size_t least_each = 1000;
  constexpr std::size_t most_each = 10'000;
  const std::size_t most =
      std::clamp(most_in_all / engine_.contexts_.size(), least_each, most_each);
  if (self.id != outside_task && ++self.make_rare().refusals > most) {
    if (engine_.parallel_ != nullptr) engine_.parallel_->mutex().unlock();  // the caller's guard
    leave_behind(self, LeftBehindBy::swallowing);
  }
  if (refusal == Refusal::by_exception) throw RunOver{};
}

bool ContextEnds::carries_caller() const noexcept {
  return engine_.parallel_ != nullptr ||
         (engine_.current_ != nullptr && engine_.current_->id != outside_task);
}

void ContextEnds::terminated(Termination how) noexcept {
  Task& self = engine_.current();
  const bool is_unwound = engine_.is_over();
  if (!is_unwound) {
    const bool exits = how == Termination::by_exit;
    std::exception_ptr error = exits ? nullptr : std::current_exception();
    if (error == nullptr)
      error = std::make_exception_ptr(InvalidOperation(
          exits ? "the program called std::exit" : "the program called std::terminate"));
    const Engine::Guard guard(engine_);
    engine_.client_.context_failed(self, error);
  }
  leave_behind(self, is_unwound ? LeftBehindBy::unwinding : LeftBehindBy::ending);
}

void ContextEnds::leave_behind(Task& self, LeftBehindBy why) noexcept {
  const bool is_parallel = engine_.parallel_ != nullptr;
  {
    const Engine::Guard guard(engine_);
    self.is_left_behind = true;
    engine_.client_.context_left_behind(self, why);
    if (is_parallel) engine_.parallel_->detach(self);
    end(self);
  }
  if (is_parallel) sleep_forever();  // the engine may be gone
  engine_.switcher_->leave_behind(self, make_way(self));
  std::abort();  // for the compiler
}

}  // namespace gang::sim
