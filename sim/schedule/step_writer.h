// Notes what the contexts of a run do to each other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/schedule/runnable_set.h"
#include "sim/schedule/step_log.h"

namespace gang::sim {

// One run at a time. The parts of the run tell it what the context does that makes the step.
class StepWriter {
 public:
  const StepLog& log() const noexcept { return log_; }

  // Whether the run became too long to be noted: then its log is empty.
  bool is_full() const noexcept { return is_full_; }

  void started(TaskId child, std::string name);
  // No context can run; until the next choice nothing is due to a context.
  void rests();
  void access(const Access& access);
  void publish(StepKey object) { mark(StepMark::Kind::publish, object); }
  void join(StepKey object) { mark(StepMark::Kind::join, object); }
  // What the current context has waited for was there, at once or at last.
  void found(StepKey key) { mark(StepMark::Kind::found, key); }
  void erased(StepKey key) {
    if (!rests_ && !is_full_) log_.knowledge.erased_keys.insert(key);
  }
  void awaits_together(StepKey key, StepKey other) {
    if (!rests_ && !is_full_) log_.knowledge.awaited_together.insert({key, other});
  }
  // Who joins `to` comes after what was published for `from`, too.
  void carry(StepKey from, StepKey to) {
    mark(StepMark::Kind::carry, from);
    mark(StepMark::Kind::into, to);
  }
  // Where to note the rest; null where nothing is noted.
  StepLog* notes() noexcept { return rests_ || is_full_ ? nullptr : &log_; }

  // A new object of the current context, and its end, where others wait for that.
  StepKey new_object();
  StepKey end_of(TaskId task) const;

  // An operation that others end once it has been posted: what they then do comes after this.
  StepKey posted();

 protected:
  StepWriter() = default;
  ~StepWriter() = default;

  void begin_log(int world_size);
  void begin_step(TaskId task) noexcept {
    current_ = task;
    rests_ = false;
  }
  // The step that has begun was chosen from `enabled`, who could have made it.
  void note_choice(ContextBits enabled);
  // The current context goes on in one of `ways`: a step of its own, which does what that says.
  void note_pick(std::span<const Access> ways, std::size_t chosen);

  StepKey key_of(TaskId task) const noexcept { return log_.contexts[task]; }
  TaskId current() const noexcept { return current_; }
  // Whether the step only came after others so far.
  bool has_done_nothing() const noexcept {
    if (log_.choices.empty()) return false;
    const StepChoice& step = log_.choices.back();
    return log_.accesses.size() == step.first_access &&
           std::all_of(log_.marks.begin() + step.first_mark, log_.marks.end(),
                       [](const StepMark& mark) { return mark.kind == StepMark::Kind::join; });
  }
  // What the current context has done since the last choice.
  std::span<const Access> accesses_of_step() const noexcept {
    if (log_.choices.empty()) return {};
    return std::span(log_.accesses).subspan(log_.choices.back().first_access);
  }

 private:
  void mark(StepMark::Kind kind, std::uint64_t value) {
    if (!rests_ && !is_full_)
      log_.marks.push_back({kind, static_cast<std::uint32_t>(log_.accesses.size()), value});
  }
  StepChoice& add_choice(StepKey chosen, std::size_t first_enabled, std::size_t enabled_size);
  [[gnu::cold]] void give_up() noexcept;

  // Of a log: some hundred MiB.
  static constexpr std::size_t most_accesses = 4'000'000;
  static constexpr std::size_t most_marks = 4'000'000;
  static constexpr std::size_t most_enabled = 16'000'000;

  StepLog log_;
  std::vector<std::uint64_t> made_;  // objects and contexts, by context
  std::uint64_t made_at_rest_ = 0;
  TaskId current_ = 0;
  bool rests_ = true;
  bool is_full_ = false;
};

// What every step of an exploration comes through, compiled into its callers.

[[gnu::always_inline]] inline void StepWriter::access(const Access& access) {
  if (rests_ || is_full_) return;
  // Field by field: a copy in larger pieces than the parts were stored in waits for the stores.
  log_.accesses.emplace_back(access.kind, access.mode, access.tag, access.rank, current_,
                             access.object, access.gang, access.operation, access.site);
  if (log_.accesses.size() > most_accesses || log_.marks.size() > most_marks) [[unlikely]]
    give_up();
}

[[gnu::always_inline]] inline StepChoice& StepWriter::add_choice(StepKey chosen,
                                                                 std::size_t first_enabled,
                                                                 std::size_t enabled_size) {
  StepChoice& choice = log_.choices.emplace_back();  // in place, too
  choice.chosen = chosen;
  choice.task = current_;
  choice.first_mark = static_cast<std::uint32_t>(log_.marks.size());
  choice.first_access = static_cast<std::uint32_t>(log_.accesses.size());
  choice.first_enabled = static_cast<std::uint32_t>(first_enabled);
  choice.enabled_size = static_cast<std::uint32_t>(enabled_size);
  return choice;
}

[[gnu::always_inline]] inline void StepWriter::note_choice(ContextBits enabled) {
  if (log_.enabled.size() > most_enabled) [[unlikely]]
    give_up();
  if (is_full_) [[unlikely]]
    return;
  const std::span<const std::uint64_t> words = enabled.words();
  add_choice(log_.contexts[current_], log_.enabled.size(), words.size());
  for (const std::uint64_t word : words) log_.enabled.push_back(word);
}

}  // namespace gang::sim
