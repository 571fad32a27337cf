// The gangs that a rank is using now.
#pragma once

#include "gang/gangs.h"

namespace gang {

// The innermost gangs that a CurrentGangs scope of this rank has made current; null outside any.
// One stack per rank on fibers and threads alike; a thread that is no rank has its own.
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
