#include "gang/current_gangs.h"

#include <algorithm>
#include <iterator>
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
  // Not simply the last entry: if several threads of a rank share its stack, scopes end in any
  // order, and popping the entry of another would silently make the wrong gangs current.
  const auto own = std::find(stack.rbegin(), stack.rend(), gangs_);
  if (own != stack.rend()) stack.erase(std::next(own).base());
}

}  // namespace gang
