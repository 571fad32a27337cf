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
  // Not simply the last: where further threads of a rank share its stack, scopes end in any order,
  // and popping what another has pushed would make the wrong gangs current without a word.
  const auto own = std::find(stack.rbegin(), stack.rend(), gangs_);
  if (own != stack.rend()) stack.erase(std::next(own).base());
}

}  // namespace gang
