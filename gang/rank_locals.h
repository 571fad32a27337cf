// Storage that belongs to a rank, whatever carries it: a fiber, a thread or a process.
#pragma once

#include <memory>
#include <vector>

namespace gang {

struct Gangs;

// What thread_local would be if ranks were threads. Simulated ranks share OS threads, so the
// simulator sets the current one at every switch; any other thread has its own.
struct RankLocals {
  std::vector<const Gangs*> current_gangs;  // innermost last
};

// The locals of the rank that is running on the calling thread.
RankLocals& rank_locals() noexcept;

// Makes `locals` the calling thread's until further notice; null: the thread's own. For schedulers
// of ranks only.
void set_rank_locals(RankLocals* locals) noexcept;

}  // namespace gang
