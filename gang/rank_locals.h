// Storage of a context of a rank, whether that is a fiber, a thread or a process.
#pragma once

namespace gang {

class CurrentGangs;

// What thread_local would be if contexts were threads: a rank's program has its own, and so does
// each thread that it starts. Simulated contexts share OS threads, so the simulator sets the
// current locals at every switch; any other thread has its own.
struct RankLocals {
  CurrentGangs* current_gangs = nullptr;  // the innermost scope; null: outside any
};

// The locals of the context that is running on the calling thread.
RankLocals& rank_locals() noexcept;

// Makes `locals` those of the calling thread until the next call; null for the thread's own. Only
// for schedulers of contexts.
void set_rank_locals(RankLocals* locals) noexcept;

// Where the calling thread keeps what set_rank_locals sets, while the thread lives. For schedulers
// that keep to one thread and set it at every switch.
RankLocals*& rank_locals_place() noexcept;

}  // namespace gang
