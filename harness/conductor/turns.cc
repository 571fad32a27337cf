#include "harness/conductor/turns.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "harness/conductor/rest.h"
#include "sim/state/awaited_message.h"

namespace gang::harness {
namespace {

// How often a process is looked at: the one that is listened to, and the others.
constexpr Duration slice = std::chrono::milliseconds(100);
constexpr Duration long_slice = std::chrono::seconds(1);

// Why a context does not go on whose process is at rest: another one of its rank has to.
class RestWait final : public sim::AwaitedMessage {
 public:
  explicit RestWait(const Turns::Turn& turn) : turn_(turn) {}

  std::vector<int> awaited_ranks() const override { return {turn_.process.rank}; }
  bool takes_any() const override { return true; }
  const Collective* call() const override { return nullptr; }
  const GangInfo* gang() const override { return nullptr; }
  std::string describe() const override {
    return turn_.process.has_threads() ? "wait for its other threads" : "wait for a lock";
  }
  CallSite call_site() const override { return turn_.call_site; }

 private:
  const Turns::Turn& turn_;
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

// Whether a thread of the process waits until its call is taken. One that has ended may have said
// goodbye, for which nobody waits.
bool waits_in_call(const RankProcess& process, const Caller& caller) {
  return caller.connection.has_frame() &&
         look_at(process, static_cast<pid_t>(caller.hello.thread)).activity == Activity::waits;
}

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
  resting_ranks_.clear();
  irreproducible_.clear();
  long_waits_.clear();
}

RealTime Turns::real_time(sim::Outcome outcome) const {
  RealTime time{.was_interrupted = is_interrupted(),
                .irreproducible = irreproducible_,
                .long_waits = long_waits_.all()};
  if (outcome == sim::Outcome::deadlock) time.stuck_ranks = stuck_ranks_;
  std::ranges::sort(time.stuck_ranks);
  return time;
}

// One wait: its turn, and what is seen of the process until it speaks.
class Turns::Waiting {
 public:
  Waiting(Turns& turns, const Turn& turn, const std::function<bool()>& has_spoken)
      : idleness(turn.process, turn.thread),
        has_spoken(has_spoken),
        turn_(turn),
        limit_(turn.is_silent ? turns.options_.silent_threads_limit : turns.options_.stall_limit),
        turns_(turns) {
    turns_.waiting_.push_back(this);
    begin_again();
  }
  ~Waiting() { std::erase(turns_.waiting_, this); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  // Whether its process, and all others since `quiet_since`, have done nothing for long enough.
  bool is_over_limit(Idleness::Clock::time_point quiet_since) const {
    const Duration quiet = Idleness::Clock::now() - quiet_since;
    return std::min(quiet, idleness.without_sleep()) >= limit_ ||
           std::min(quiet, idleness.in_all()) >= turns_.options_.sleep_limit;
  }

  // What its process does; it is looked at less and less often, but also where something was heard
  // that one of its threads may have said.
  Stillness stillness(bool has_heard) {
    const auto now = Idleness::Clock::now();
    if (has_heard && turn_.process.has_threads())
      pause_ = Duration(0);  // it may wait as soon as it has said it
    else if (now < next_)
      return Stillness::none;
    pause_ = std::clamp(2 * pause_, first_pause, slice);
    next_ = now + pause_;
    return stillness_of(turn_.process, turn_.thread);
  }
  // For how long to listen before looking again.
  Duration pause() const noexcept { return pause_; }

  // Its process goes on.
  void begin_again() {
    dozes_since_.reset();
    // Of several threads, one may have spoken already.
    pause_ = turn_.process.has_threads() ? Duration(0) : first_pause;
    next_ = Idleness::Clock::now() + pause_;
  }

  // It dozes until its process makes a step.
  void doze() {
    dozes_since_ = turn_.process.steps;
    has_slept_ = has_slept_ || sleeps(turn_.process, turn_.thread);
  }
  // It was woken by another thread since.
  void forget_sleep() noexcept { has_slept_ = false; }
  bool dozes() const noexcept { return dozes_since_ == turn_.process.steps; }
  bool is_woken() const noexcept { return dozes_since_.has_value() && !dozes(); }
  // Whether its order among the others was a matter of time: it dozes and has not been woken, or
  // its sleep has ended while another thread of its process works or has just called.
  bool wakes_by_itself() const {
    const auto is_other_busy = [this](const auto& caller) {
      const auto thread = static_cast<pid_t>(caller->hello.thread);
      return thread != turn_.thread &&
             (look_at(turn_.process, thread).activity == Activity::works ||
              waits_in_call(turn_.process, *caller));
    };
    return dozes() || (has_slept_ && std::ranges::any_of(turn_.process.callers, is_other_busy));
  }

  Idleness idleness;
  const std::function<bool()>& has_spoken;

 private:
  static constexpr Duration first_pause = std::chrono::milliseconds(1);

  const Turn& turn_;
  Duration limit_;
  Duration pause_{0};
  std::optional<std::uint64_t> dozes_since_;  // which step
  bool has_slept_ = false;
  Idleness::Clock::time_point next_{};
  Turns& turns_;
};

bool Turns::wait(Turn& turn, const std::function<bool()>& has_spoken) {
  Waiting waiting(*this, turn, has_spoken);
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
      if (waiting.is_woken()) {
        turn.is_free = options_.is_free || turn.is_silent;
        waiting.begin_again();
      }
      const std::uint64_t before = arrivals_;
      if (!has_spoken())
        heard = may_leave_to_new_caller(turn, Stillness::none) ? Heard::new_caller
                                                               : listen(turn, waiting, has_spoken);
      announce_since(before, turn.rank);
    }
    // Not through another round: how often one had to listen must not show in the schedule.
    if (has_spoken() || heard == Heard::new_caller) {
      if (heard != Heard::new_caller && waiting.wakes_by_itself()) note_that_others_went_on(turn);
      turn.is_free = options_.is_free || turn.is_silent;
      return true;
    }
    if (heard == Heard::rest) {
      await_step(turn, has_spoken);
      waiting.begin_again();
      waiting.forget_sleep();
    }
    if (heard != Heard::stalled) continue;
    if (turn.is_silent) return false;
    count_as_stuck(turn, has_spoken);
  }
}

Turns::Heard Turns::listen(Turn& turn, Waiting& waiting, const std::function<bool()>& has_spoken) {
  if (!turn.is_free) return listen_for_one(turn, waiting, has_spoken);
  // Whoever takes turns listens until it is its own; and whoever can run goes first.
  const bool others_go_on = taking_turns_ > 0 || turn.rank.others_can_run();
  return others_go_on ? Heard::nothing_yet : listen_for_any(turn, waiting);
}

Turns::Heard Turns::listen_for_one(Turn& turn, Waiting& waiting,
                                   const std::function<bool()>& has_spoken) {
  const Idleness& idleness = waiting.idleness;
  while (!has_spoken()) {
    const bool has_heard = poller_.poll(waiting.pause());
    if (is_interrupted()) return Heard::stalled;
    if (has_heard && has_spoken()) break;  // what it does since is no matter
    const Stillness stillness = waiting.stillness(has_heard);
    if (may_leave_to_new_caller(turn, stillness)) return Heard::new_caller;
    if (stillness == Stillness::at_rest) return Heard::rest;
    look_around(waiting);
    const Duration with_sleep =
        irreproducible_.empty() ? options_.patience_with_sleep : options_.patience;
    const bool is_idle =
        idleness.without_sleep() >= options_.patience || idleness.in_all() >= with_sleep;
    const bool dozes = stillness == Stillness::dozing;
    if ((is_idle || dozes) && (outside_ > 1 || turn.rank.others_can_run())) {
      turn.is_free = true;
      turn.rank.note_choice();
      if (dozes)
        waiting.doze();
      else
        note_that_others_went_on(turn);
      return Heard::nothing_yet;
    }
    if (holds_up_another(turn)) {
      note_that_others_went_on(turn);
      turn.is_free = true;
      return may_leave_to_new_caller(turn, stillness) ? Heard::new_caller : Heard::nothing_yet;
    }
    if (is_stalled()) return Heard::stalled;
  }
  return Heard::something;
}

// Not before all threads of the process wait: who of them would be first is a matter of time. That
// is so anyway where ranks are threads, and once a context has lost its turn.
bool Turns::may_leave_to_new_caller(const Turn& turn, Stillness stillness) const {
  return turn.leaves_to_new_callers && turn.process.has_new_caller() &&
         (stillness != Stillness::none || turn.is_free || turn.process.is_shared);
}

// Whether another thread of the process has made a call, and nobody has taken it for so long that
// this one may be looking out for what it does. Once time decides anyway, that is not long.
bool Turns::holds_up_another(const Turn& turn) const {
  const auto now = TimeOutside::Clock::now();
  const Duration limit = irreproducible_.empty() ? options_.sleep_limit : options_.patience;
  return std::ranges::any_of(turn.process.callers, [&](const auto& caller) {
    return now - caller->spoke_at >= limit && waits_in_call(turn.process, *caller);
  });
}

void Turns::note_hasty(const RankProcess& process) {
  note_irreproducible(
      fmt::format("when thread {} of rank {} made its first call was a matter of time",
                  process.callers.back()->hello.thread_name, process.rank));
}

// Anyone may have spoken before: it is asked when it is its turn.
Turns::Heard Turns::listen_for_any(Turn& turn, Waiting& waiting) {
  const std::uint64_t before = arrivals_;
  const auto has_spoken = [](const Waiting* one) { return one->has_spoken(); };
  while (arrivals_ == before && std::ranges::none_of(waiting_, has_spoken)) {
    const bool has_heard = poller_.poll(waiting.pause());
    if (is_interrupted()) return Heard::stalled;
    const Stillness stillness = waiting.stillness(has_heard);
    if (may_leave_to_new_caller(turn, stillness)) return Heard::new_caller;
    if (stillness == Stillness::at_rest) return Heard::rest;
    look_around(waiting);
    if (is_stalled()) return Heard::stalled;
  }
  return Heard::something;
}

void Turns::note_that_others_went_on(const Turn& turn) {
  note_irreproducible(fmt::format(
      "rank {} waited for something outside of its gangs, and the others went on without it",
      turn.process.rank));
}

void Turns::note_irreproducible(std::string reason) {
  if (irreproducible_.empty()) irreproducible_ = std::move(reason);
}

bool Turns::hear(sim::SimulatedRank& rank, Duration timeout) {
  const std::uint64_t before = arrivals_;
  const bool has_heard = poller_.poll(timeout);
  announce_since(before, rank);
  return has_heard;
}

// Who counts as blocked outside of calls may have spoken since then.
void Turns::announce_since(std::uint64_t arrivals, sim::SimulatedRank& rank) {
  const bool are_all_outside = stuck_ranks_.empty() && resting_ranks_.empty();
  if (arrivals_ != arrivals && !are_all_outside) rank.announce();
}

// At the others, too, so that many that are idle do not take their time one after the other.
void Turns::look_around(Waiting& listening) {
  const auto now = Idleness::Clock::now();
  listening.idleness.look(now, slice);
  if (now < next_look_around_) return;
  next_look_around_ = now + long_slice;
  for (Waiting* const waiting : waiting_) waiting->idleness.look(now, slice);
}

// Any that works may release those that are idle, without a word to us.
bool Turns::is_stalled() const {
  return std::ranges::all_of(
      waiting_, [this](const Waiting* waiting) { return waiting->is_over_limit(quiet_since_); });
}

// Until a step of its process: it may wake the thread, which has to be listened to again then.
void Turns::await_step(Turn& turn, const std::function<bool()>& has_spoken) {
  const RestWait rest(turn);
  resting_ranks_.push_back(turn.process.rank);
  turn.rank.await(rest, [&, before = turn.process.steps] {
    return turn.process.steps != before || has_spoken();
  });
  resting_ranks_.erase(std::ranges::find(resting_ranks_, turn.process.rank));
}

void Turns::note_step(RankProcess& process, sim::SimulatedRank& rank) {
  ++process.steps;
  if (std::ranges::find(resting_ranks_, process.rank) != resting_ranks_.end()) rank.announce();
}

void Turns::count_as_stuck(Turn& turn, const std::function<bool()>& has_spoken) {
  const OutsideWait message(turn, turn.rank.world_size());
  stuck_ranks_.push_back(turn.process.rank);
  turn.rank.note_choice();  // it may speak after all
  // Whoever speaks may have released it.
  turn.rank.await(message, [&, before = arrivals_] { return arrivals_ != before || has_spoken(); });
  std::erase(stuck_ranks_, turn.process.rank);
}

}  // namespace gang::harness
