#include "gang/current_gangs.h"

#include <vector>

#include "gang/rank_locals.h"

namespace gang {

const Gangs* current_gangs() noexcept {
  const std::vector<const Gangs*>& stack = rank_locals().current_gangs;
  return stack.empty() ? nullptr : stack.back();
}

CurrentGangs::CurrentGangs(const Gangs& gangs) : gangs_(&gangs) {
  rank_locals().current_gangs.push_back(gangs_);
}

CurrentGangs::~CurrentGangs() {
  std::vector<const Gangs*>& stack = rank_locals().current_gangs;
  // Never pop what another scope has pushed: where scopes end out of order, or on another thread
  // than they began on, that would make the wrong gangs current without a word.
  if (!stack.empty() && stack.back() == gangs_) stack.pop_back();
}

}  // namespace gang
