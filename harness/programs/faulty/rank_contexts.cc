// Ranks with several threads: locks, conditions, and gangs shared by two threads.
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

using Lock = std::unique_lock<RuntimeMutex>;

// The trainer locks model, then cache; the checkpoint thread locks cache, then model.
void lock_order(Rank& rank, const PlantedBug& bug) {
  const auto model = rank.runtime().make_mutex();
  const auto cache = rank.runtime().make_mutex();
  const bool swaps = bug.is_planted() && rank.rank() == 1;
  auto checkpoint = rank.runtime().start_thread("checkpoint", [&] {
    const Lock first(swaps ? *cache : *model);
    const Lock second(swaps ? *model : *cache);
  });
  {
    const Lock first(*model);
    const Lock second(*cache);
  }
  checkpoint->join();
  rank.root()->barrier({}, bug.here());
}

// The loader notifies "ready" before the trainer waits for it, and the trainer checks no flag.
void lost_wakeup(Rank& rank, const PlantedBug& bug) {
  const auto mutex = rank.runtime().make_mutex();
  const auto ready = rank.runtime().make_condition();
  bool is_loaded = false;
  auto loader = rank.runtime().start_thread("loader", [&] {
    const Lock lock(*mutex);
    is_loaded = true;
    ready->notify_all();
  });
  Lock lock(*mutex);
  if (bug.is_planted() && rank.rank() == 1) {
    ready->wait(lock);
  } else {
    while (!is_loaded) ready->wait(lock);
  }
  lock.unlock();
  loader->join();
  rank.root()->barrier({}, bug.here());
}

// One rank's loader runs out of data while its trainer waits for one more batch.
void exhausted_loader(Rank& rank, const PlantedBug& bug) {
  const auto mutex = rank.runtime().make_mutex();
  const auto filled = rank.runtime().make_condition();
  int loaded = 0;
  const int batches = bug.is_planted() && rank.rank() == 2 ? 2 : 3;
  auto loader = rank.runtime().start_thread("loader", [&] {
    for (int i = 0; i < batches; ++i) {
      const Lock lock(*mutex);
      ++loaded;
      filled->notify_all();
    }
  });
  float loss = 1.0F;
  for (int step = 0; step < 3; ++step) {
    Lock lock(*mutex);
    while (loaded <= step) filled->wait(lock);
    lock.unlock();
    rank.root()->all_reduce(view_of(loss), ReduceOperation::mean, {}, bug.here());
  }
  loader->join();
}

// Holds a lock in a collective that the others reach only after one that needs the lock.
void lock_in_collective(Rank& rank, const PlantedBug& bug) {
  const bool reports = rank.rank() < 3;
  const auto metrics = rank.root()->split({.color = reports ? 0 : no_color}, {.name = "metrics"});
  const auto mutex = rank.runtime().make_mutex();
  float loss = 1.0F;
  float norm = 1.0F;
  const auto report = [&] {
    metrics->all_reduce(view_of(loss), ReduceOperation::sum, {}, bug.here());
  };
  const auto reduce = [&] {
    rank.root()->all_reduce(view_of(norm), ReduceOperation::sum, {}, bug.here());
  };
  if (rank.rank() != 0) {
    if (reports) report();
    reduce();
    return;
  }
  Lock lock(*mutex);
  auto reporter = rank.runtime().start_thread("reporter", [&] {
    const Lock own(*mutex);
    report();
  });
  if (!bug.is_planted()) lock.unlock();
  reduce();
  if (bug.is_planted()) lock.unlock();
  reporter->join();
}

// Two threads call one gang. The other ranks join one thread before the other calls; one rank does
// not, so the order of its two calls is a matter of luck.
void threads_share_gang(Rank& rank, const PlantedBug& bug) {
  const auto objects = rank.root()->split({.color = 0}, {.name = "objects"});
  float loss = 1.0F;
  std::int32_t epoch = 1;
  const CallSite here = bug.here();  // of either call: the one that comes second is at fault
  auto prefetch = rank.runtime().start_thread("prefetch", [&] {
    (bug.is_planted() ? rank.root() : objects)->broadcast(view_of(epoch), 0, {}, here);
  });
  if (bug.is_planted() && rank.rank() != 2) prefetch->join();
  rank.root()->all_reduce(view_of(loss), ReduceOperation::mean, {}, here);
  prefetch->join();
}

// The work is done and the gangs are closed, but one rank joins a thread that it forgot to stop.
void stuck_in_teardown(Rank& rank, const PlantedBug& bug) {
  const auto mutex = rank.runtime().make_mutex();
  const auto changed = rank.runtime().make_condition();
  bool is_stopped = false;
  auto saver = rank.runtime().start_thread("saver", [&] {
    Lock lock(*mutex);
    while (!is_stopped) changed->wait(lock);
  });
  rank.root()->barrier({}, bug.here());
  rank.root()->close();
  const bool forgets = bug.is_planted() && rank.rank() == 1;
  if (!forgets) {
    const Lock lock(*mutex);
    is_stopped = true;
    changed->notify_all();
  }
  saver->join();
}

// A thread sends to the next stage while the main thread reduces. On a rank's single stream the
// first call holds up the other, and ranks may disagree on which is first.
void threads_on_stream(Rank& rank, const PlantedBug& bug) {
  const auto pp = rank.root()->split({.color = rank.rank() / 2}, {.name = "pp"});
  std::vector<float> activation(4, 1.0F);
  float norm = 1.0F;
  auto stage = rank.runtime().start_thread("stage", [&] {
    if (pp->rank() == 0) pp->send(view(activation), 1, 0, {}, bug.here());
    if (pp->rank() == 1) pp->recv(view(activation), 0, 0, {}, bug.here());
  });
  if (!bug.is_planted()) stage->join();
  rank.root()->all_reduce(view_of(norm), ReduceOperation::sum, {}, bug.here());
  if (bug.is_planted()) stage->join();
}

}  // namespace

std::vector<FaultyProgram> rank_contexts() {
  namespace id = sim::finding_id;
  return {faulty("lock_order", "two locks, two orders", lock_order, id::deadlock, {1},
                 {.shown_in = ShownIn::some_schedules}),
          faulty("lost_wakeup", "notified before the wait", lost_wakeup, id::deadlock, {1},
                 {.shown_in = ShownIn::some_schedules}),
          faulty("exhausted_loader", "a batch that never comes", exhausted_loader, id::deadlock,
                 {2}, {.fewest_ranks = 3}),
          faulty("lock_in_collective", "a lock held while reducing", lock_in_collective,
                 id::blocked_in_other_gang, {0}, {.fewest_ranks = 4}),
          faulty("threads_share_gang", "two threads call one gang", threads_share_gang,
                 id::concurrent_use, {2},
                 {.seen_in = "pytorch#18300, pytorch#131895",
                  .fewest_ranks = 3,
                  .shown_in = ShownIn::some_schedules}),
          faulty("threads_on_stream", "two threads on one stream", threads_on_stream,
                 id::stream_order_inversion, {0, 1},
                 {.seen_in = "pytorch#175145",
                  .default_world_size = 2,
                  .world_step = 2,
                  .options = {{"execution", "stream_ordered"}},
                  .shown_in = ShownIn::some_schedules}),
          faulty("stuck_in_teardown", "one rank joins forever", stuck_in_teardown, id::deadlock,
                 {1}, {.seen_in = "pytorch#196968"})};
}

}  // namespace gang::harness
