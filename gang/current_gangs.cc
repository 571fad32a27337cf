#include "gang/current_gangs.h"

#include <utility>

#include "gang/rank_locals.h"

namespace gang {

const Gangs* current_gangs() noexcept {
  const CurrentGangs* const innermost = rank_locals().current_gangs;
  return innermost == nullptr ? nullptr : innermost->gangs_;
}

CurrentGangs::CurrentGangs(const Gangs& gangs) noexcept
    : gangs_(&gangs), outer_(std::exchange(rank_locals().current_gangs, this)) {}

CurrentGangs::~CurrentGangs() {
  // Not simply the innermost one: if several threads of a rank share its scopes, they end in any
  // order, and removing that of another would silently make the wrong gangs current.
  CurrentGangs** place = &rank_locals().current_gangs;
  while (*place != nullptr && *place != this) place = &(*place)->outer_;
  if (*place != nullptr) *place = outer_;
}

}  // namespace gang
