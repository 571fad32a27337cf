#include "harness/conductor/turns.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "sim/state/awaited_message.h"

namespace gang::harness {
namespace {

constexpr Duration slice = std::chrono::milliseconds(100);

// Looks at a process from time to time, and not at all if it answers soon.
class Looks {
 public:
  Looks(pid_t process, pid_t thread) : process_(process), thread_(thread) {}

  // For how long it has used next to no processor, as of the last look. Zero if it works, or sleeps
  // until a known time.
  Duration idle() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return idle_;
    next_ = now + slice;
    // A process that is not known works, for all that can be seen.
    const ProcessorUse use =
        process_ == 0 ? ProcessorUse{.is_busy = true}
                      : processor_use(process_, thread_).value_or(ProcessorUse{.is_busy = true});
    idle_ = has_looked_ ? now - begun_ : Duration::zero();
    // A tick is 10 ms; an idle interpreter wakes a few times per second.
    const std::uint64_t allowed =
        1 + static_cast<std::uint64_t>(idle_ / std::chrono::milliseconds(200));
    const bool is_idle =
        !use.is_busy && !use.is_sleeping && use.ticks >= ticks_ && use.ticks <= ticks_ + allowed;
    if (has_looked_ && is_idle) return idle_;
    has_looked_ = true;
    begun_ = now;
    ticks_ = use.ticks;
    return idle_ = Duration::zero();
  }

 private:
  pid_t process_;
  pid_t thread_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + slice;
  bool has_looked_ = false;
  std::chrono::steady_clock::time_point begun_;  // when it was last seen to work
  std::uint64_t ticks_ = 0;                      // at that time
  Duration idle_{0};
};

// What a stuck rank waits for: nothing that gangsim knows.
class OutsideWait final : public sim::AwaitedMessage {
 public:
  OutsideWait(const Turns::Turn& turn, int world_size) : turn_(turn), world_size_(world_size) {}

  std::vector<int> awaited_ranks() const override {
    std::vector<int> ranks;
    for (int rank = 0; rank < world_size_; ++rank)
      if (rank != turn_.process.rank) ranks.push_back(rank);
    return ranks;
  }
  bool takes_any() const override { return true; }
  const Collective* call() const override { return nullptr; }
  const GangInfo* gang() const override { return nullptr; }
  std::string describe() const override { return "code outside of any call"; }
  CallSite call_site() const override { return turn_.call_site; }

 private:
  const Turns::Turn& turn_;
  int world_size_;
};

class Counted {
 public:
  explicit Counted(int& count, bool counts = true) : count_(counts ? &count : nullptr) {
    if (count_ != nullptr) ++*count_;
  }
  ~Counted() {
    if (count_ != nullptr) --*count_;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  int* count_;
};

}  // namespace

void Turns::begin_run() {
  stuck_ranks_.clear();
  irreproducible_.clear();
}

bool Turns::wait(Turn& turn, const std::function<bool()>& has_spoken) {
  if (options_.is_free) turn.is_free = true;
  for (;;) {
    Heard heard = Heard::nothing_yet;
    {
      const Counted outside(outside_);
      const Counted takes_turns(taking_turns_, !turn.is_free);
      if (turn.is_free || turn.process.has_threads())
        turn.rank.wait_outside();
      else
        turn.rank.await_turn();
      const std::uint64_t before = arrivals_;
      if (!has_spoken()) heard = listen(turn, has_spoken);
      if (arrivals_ != before && !stuck_ranks_.empty()) turn.rank.announce();
    }
    // Not through another round: how often one had to listen must not show in the schedule.
    if (has_spoken()) {
      turn.is_free = options_.is_free || turn.is_silent;
      return true;
    }
    if (heard != Heard::stalled) continue;
    if (turn.is_silent) return false;
    count_as_stuck(turn, has_spoken);
  }
}

Turns::Heard Turns::listen(Turn& turn, const std::function<bool()>& has_spoken) {
  if (!turn.is_free) return listen_for_one(turn, has_spoken);
  // Whoever takes turns listens until it is its own.
  return taking_turns_ > 0 ? Heard::nothing_yet : listen_for_any(turn, has_spoken);
}

Turns::Heard Turns::listen_for_one(Turn& turn, const std::function<bool()>& has_spoken) {
  Looks looks(turn.process.id, turn.thread);
  while (!has_spoken()) {
    poller_.poll(slice);
    if (is_interrupted()) return Heard::stalled;
    const Duration idle = looks.idle();
    if ((outside_ > 1 || turn.rank.others_can_run()) && idle >= options_.patience) {
      turn.is_free = true;
      turn.rank.note_choice();
      if (irreproducible_.empty())
        irreproducible_ = fmt::format(
            "rank {} waited for something outside of its gangs, and the others went on without it",
            turn.process.rank);
      return Heard::nothing_yet;
    }
    if (idle >= options_.stall_limit) return Heard::stalled;
  }
  return Heard::something;
}

Turns::Heard Turns::listen_for_any(Turn& turn, const std::function<bool()>& has_spoken) {
  const std::uint64_t before = arrivals_;
  const Duration limit = turn.is_silent ? options_.silent_threads_limit : options_.stall_limit;
  Looks looks(turn.process.id, 0);
  while (arrivals_ == before && !has_spoken()) {
    poller_.poll(slice);
    // The others that listen are asked in their turn.
    if (is_interrupted() || looks.idle() >= limit) return Heard::stalled;
  }
  return Heard::something;
}

void Turns::count_as_stuck(Turn& turn, const std::function<bool()>& has_spoken) {
  const OutsideWait message(turn, turn.rank.world_size());
  stuck_ranks_.push_back(turn.process.rank);
  turn.rank.note_choice();  // it may speak after all
  turn.rank.await(message, has_spoken);
  std::erase(stuck_ranks_, turn.process.rank);
}

}  // namespace gang::harness
