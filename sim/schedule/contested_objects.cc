#include "sim/schedule/contested_objects.h"

#include <algorithm>

namespace gang::sim {

// Whether a mode of one context does not commute with one of another.
inline bool ContestedObjects::Object::conflicts() const noexcept {
  AccessModes conflicting;
  of_others.for_each([&conflicting](AccessMode mode) {
    conflicting = conflicting | AccessModes::conflicting_with(mode);
  });
  return !(conflicting & (of_first | of_others)).empty();
}

inline void ContestedObjects::note(StepKey object, TaskId task, AccessMode mode,
                                   std::uint32_t step) {
  const std::uint32_t known = keys_.size();
  const std::uint32_t number = keys_.number_of(object);
  if (number == known) objects_.push_back({.first = task});
  Object& noted = objects_[number];
  (task == noted.first ? noted.of_first : noted.of_others).add(mode);
  noted.last_step = step;
  numbers_.push_back(number);
}

void ContestedObjects::read(const StepLog& log, const AnyReceives& known) {
  keys_.clear();
  objects_.clear();
  numbers_.clear();
  ends_.resize(log.accesses.size());
  std::uint32_t* end = ends_.data();
  for (std::uint32_t step = 0; step < log.choices.size(); ++step) {
    const TaskId task = log.choices[step].task;
    for (const Access& access : log.accesses_of(step)) {
      if (access.kind != AccessKind::message) {
        note(access.object, task, access.mode, step);
      } else {
        keys_of_access_.clear();
        add_objects(access, known, keys_of_access_);
        for (const StepKey key : keys_of_access_) note(key, task, access.mode, step);
      }
      *end++ = static_cast<std::uint32_t>(numbers_.size());
    }
  }
  steps_ = 0;
  for (Object& object : objects_)
    if (object.is_contested = object.conflicts(); object.is_contested)
      steps_ = std::max(steps_, object.last_step + 1);
}

}  // namespace gang::sim
