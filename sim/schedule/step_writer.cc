#include "sim/schedule/step_writer.h"

#include <utility>

#include "gang/hash.h"

namespace gang::sim {
namespace {

constexpr StepKey rank_key = 0x72616e6b;
constexpr StepKey end_key = 0x656e64;

// Of a log: some hundred MiB.
constexpr std::size_t most_marks = 4'000'000;
constexpr std::size_t most_contexts_of_choices = 16'000'000;

}  // namespace

void StepWriter::begin_log(int world_size) {
  log_.clear();
  for (TaskId id = 0; id < static_cast<TaskId>(world_size); ++id)
    log_.contexts.push_back(splitmix64(rank_key, id));
  log_.names.resize(log_.contexts.size());
  log_.parents.resize(log_.contexts.size(), no_task);
  made_.assign(log_.contexts.size(), 0);
  made_at_rest_ = 0;
  step_accesses_ = 0;
  rests_ = true;
  is_full_ = false;
}

void StepWriter::note_choice(const std::vector<TaskId>& enabled, TaskId chosen) {
  if (log_.choices.size() * log_.contexts.size() > most_contexts_of_choices) give_up();
  if (is_full_) return;
  log_.choices.push_back({.chosen = log_.contexts[chosen],
                          .mark = log_.marks.size(),
                          .first_enabled = log_.enabled.size(),
                          .enabled_count = enabled.size()});
  for (const TaskId task : enabled) log_.enabled.push_back(log_.contexts[task]);
  mark(StepMark::Kind::step, log_.choices.size() - 1);
  step_accesses_ = log_.accesses.size();
}

void StepWriter::note_pick(std::span<const Access> ways, std::size_t chosen) {
  if (is_full_) return;
  log_.choices.push_back({.chosen = ways[chosen].object,
                          .mark = log_.marks.size(),
                          .first_enabled = log_.enabled.size(),
                          .enabled_count = ways.size(),
                          .first_way = log_.ways.size()});
  for (const Access& way : ways) log_.enabled.push_back(way.object);
  log_.ways.insert(log_.ways.end(), ways.begin(), ways.end());
  mark(StepMark::Kind::step, log_.choices.size() - 1);
  step_accesses_ = log_.accesses.size();
  access(ways[chosen]);
}

void StepWriter::give_up() noexcept {
  is_full_ = true;
  log_.marks = {};
  log_.accesses = {};
  log_.choices = {};
  log_.enabled = {};
  log_.ways = {};
  log_.taken = {};
}

void StepWriter::rests() {
  if (rests_) return;
  mark(StepMark::Kind::rest, 0);
  rests_ = true;
}

void StepWriter::started(TaskId child, std::string name) {
  const StepKey key = new_object();
  if (log_.contexts.size() <= child) log_.contexts.resize(child + 1);
  log_.contexts[child] = key;
  log_.names.resize(log_.contexts.size());
  log_.names[child] = std::move(name);
  log_.parents.resize(log_.contexts.size(), no_task);
  log_.parents[child] = rests_ ? no_task : current_;
  made_.resize(log_.contexts.size(), 0);
  mark(StepMark::Kind::start, child);
}

void StepWriter::access(const Access& access) {
  if (rests_ || is_full_) return;
  log_.accesses.push_back(access);
  mark(StepMark::Kind::access, log_.accesses.size() - 1);
  if (log_.marks.size() > most_marks) give_up();
}

StepKey StepWriter::new_object() {
  return rests_ ? splitmix64(rank_key, ++made_at_rest_ << 32)
                : splitmix64(log_.contexts[current_], ++made_[current_]);
}

StepKey StepWriter::end_of(TaskId task) const { return splitmix64(log_.contexts[task], end_key); }

StepKey StepWriter::posted() {
  const StepKey key = new_object();
  publish(key);
  return key;
}

}  // namespace gang::sim
