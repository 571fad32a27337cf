// The gangs that a rank is using now.
#pragma once

#include "gang/gangs.h"

namespace gang {

// The innermost gangs that a CurrentGangs scope of this rank has made current; null outside any.
// One stack per context (a rank's program, or a further thread of it) on fibers and threads alike.
const Gangs* current_gangs() noexcept;

// Makes `gangs` current until the end of the scope. `gangs` must outlive the scope; scopes of one
// thread end in reverse order of their beginning. A scope takes back its own gangs and no other's.
class CurrentGangs {
 public:
  explicit CurrentGangs(const Gangs& gangs);
  ~CurrentGangs();
  CurrentGangs(const CurrentGangs&) = delete;
  CurrentGangs& operator=(const CurrentGangs&) = delete;

 private:
  const Gangs* gangs_;
};

}  // namespace gang
