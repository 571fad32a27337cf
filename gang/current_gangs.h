// The gangs that a rank is using now.
#pragma once

#include "gang/gangs.h"

namespace gang {

// The gangs that the innermost CurrentGangs scope of this rank has made current; null outside any
// scope. One stack per context (a rank's program or another thread of it), also on fibers.
const Gangs* current_gangs() noexcept;

// Makes `gangs` current until the end of the scope. `gangs` must outlive the scope; the scopes of
// one thread end in reverse order. A scope removes its own gangs and no others.
class CurrentGangs {
 public:
  explicit CurrentGangs(const Gangs& gangs) noexcept;
  ~CurrentGangs();
  CurrentGangs(const CurrentGangs&) = delete;
  CurrentGangs& operator=(const CurrentGangs&) = delete;

 private:
  friend const Gangs* current_gangs() noexcept;

  const Gangs* gangs_;
  CurrentGangs* outer_;  // the next scope outwards of the same context
};

}  // namespace gang
