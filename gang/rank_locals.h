// Storage that belongs to a context of a rank, whatever carries it: a fiber, a thread or a process.
#pragma once

#include <memory>
#include <vector>

namespace gang {

struct Gangs;

// What thread_local would be if contexts were threads: a rank's program has its own, and so has
// each further thread that it starts. Simulated contexts share OS threads, so the simulator sets
// the current one at every switch; any other thread has its own.
struct RankLocals {
  std::vector<const Gangs*> current_gangs;  // innermost last
};

// The locals of the context that is running on the calling thread.
RankLocals& rank_locals() noexcept;

// Makes `locals` the calling thread's until further notice; null: the thread's own. For schedulers
// of contexts only.
void set_rank_locals(RankLocals* locals) noexcept;

}  // namespace gang
