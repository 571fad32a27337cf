#include "sim/schedule/step_writer.h"

#include <utility>

#include "gang/hash.h"

namespace gang::sim {
namespace {

constexpr StepKey rank_key = 0x72616e6b;
constexpr StepKey end_key = 0x656e64;

}  // namespace

void StepWriter::begin_log(int world_size) {
  log_.clear();
  for (TaskId id = 0; id < static_cast<TaskId>(world_size); ++id)
    log_.contexts.push_back(splitmix64(rank_key, id));
  log_.names.resize(log_.contexts.size());
  log_.parents.resize(log_.contexts.size(), no_task);
  made_.assign(log_.contexts.size(), 0);
  made_at_rest_ = 0;
  rests_ = true;
  is_full_ = false;
}

void StepWriter::note_pick(std::span<const Access> ways, std::size_t chosen) {
  if (is_full_) return;
  add_choice(ways[chosen].object, log_.ways.size(), ways.size()).is_pick = true;
  log_.ways.insert(log_.ways.end(), ways.begin(), ways.end());
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
