#include "sim/schedule/known_contests.h"

#include <algorithm>

namespace gang::sim {

void KnownContests::learn(const StepLog& log) {
  merge(knowledge_, log.knowledge);
  contexts_ = std::max<std::uint64_t>(contexts_, log.contexts.size());
  steps_of_.clear();
  for (std::size_t step = 0; step < log.choices.size(); ++step) {
    const std::span<const Access> accesses = log.accesses_of(step);
    steps_of_[log.contexts[log.choices[step].task]].emplace_back(accesses.begin(), accesses.end());
  }
  std::vector<UsedObject> objects;
  for (const Access& access : log.accesses) {
    const StepKey context = log.contexts[access.task];
    objects.clear();
    add_objects(access, knowledge_, objects);
    // Of messages to one mailbox only those count that one receive could take, or a look see.
    objects_[access.object];
    for (const auto& [key, mode] : objects) {
      Object& object = objects_[key];
      bool is_known = false;
      for (const Object::User& user : object.users) {
        const bool is_same = user.context == context;
        object.is_contested |= !is_same && conflict(user.mode, mode);
        is_known |= is_same && user.mode == mode;
      }
      if (!is_known) object.users.push_back({context, mode});
    }
  }
}

void KnownContests::measure(const StepLog& log) {
  contexts_ = std::max<std::uint64_t>(contexts_, log.contexts.size());
  steps_ = std::max(steps_, contested_steps(log));
}

std::uint64_t KnownContests::contested_steps(const StepLog& log) const {
  std::uint64_t contested = 0;
  for (std::size_t step = 0; step < log.choices.size(); ++step)
    if (is_contested(log.accesses_of(step))) ++contested;
  return contested;
}

std::uint64_t KnownContests::contested_accesses(const StepLog& log) const {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      log.accesses, [this](const Access& access) { return is_contested({&access, 1}); }));
}

bool KnownContests::is_contested(std::span<const Access> accesses) const {
  std::vector<UsedObject> objects;
  for (const Access& access : accesses) {
    if (!objects_.contains(access.object)) return true;
    objects.clear();
    add_objects(access, knowledge_, objects);
    for (const auto& [key, mode] : objects)
      if (const auto found = objects_.find(key);
          found == objects_.end() || found->second.is_contested)
        return true;
  }
  return false;
}

const std::vector<Access>* KnownContests::step_of(StepKey context, std::size_t index) const {
  const auto found = steps_of_.find(context);
  if (found == steps_of_.end() || index >= found->second.size()) return nullptr;
  return &found->second[index];
}

}  // namespace gang::sim
