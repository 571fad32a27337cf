#include "sim/schedule/contested_objects.h"

#include <algorithm>

namespace gang::sim {
namespace {

// How objects are accessed, other than those of receives from any source.
AccessModes modes_of(const StepLog& log) noexcept {
  AccessModes found;
  for (const Access& access : log.accesses)
    found.add(access.kind == AccessKind::message ? AccessMode::arrive : access.mode);
  return found;
}

}  // namespace

// Whether a mode of one context does not commute with one of another.
inline bool ContestedObjects::Object::conflicts() const noexcept {
  AccessModes conflicting;
  of_others.for_each([&conflicting](AccessMode mode) {
    conflicting = conflicting | AccessModes::conflicting_with(mode);
  });
  return !(conflicting & (of_first | of_others)).empty();
}

inline void ContestedObjects::note(const UsedObject& used, TaskId task, std::uint32_t access) {
  const std::uint32_t known = keys_.size();
  const std::uint32_t number = keys_.number_of(used.object);
  if (number == known) objects_.push_back({.first = task});
  Object& noted = objects_[number];
  (task == noted.first ? noted.of_first : noted.of_others).add(used.mode);
  uses_.push_back({access, number, used.mode});
}

void ContestedObjects::read(const StepLog& log, const Knowledge& known) {
  keys_.clear();
  objects_.clear();
  uses_.clear();
  const AccessModes modes = modes_of(log);
  const bool are_looked_for = modes.contains(AccessMode::look);
  const bool are_written = modes.contains(AccessMode::write);
  std::uint32_t index = 0;
  for (const Access& access : log.accesses) {
    if (access.gang != 0 && are_written) note({access.gang, AccessMode::read}, access.task, index);
    if (access.kind == AccessKind::message) {
      of_message_.clear();
      add_takers(access, known, of_message_);
      if (are_looked_for) add_arrivals(access, of_message_);
      for (const UsedObject& used : of_message_) note(used, access.task, index);
    } else if (!(AccessModes::conflicting_with(access.mode) & modes).empty()) {
      note({access.object, access.mode}, access.task, index);
    }
    ++index;
  }
  for (Object& object : objects_) object.is_contested = object.conflicts();
  std::erase_if(uses_, [this](const Use& use) { return !objects_[use.object].is_contested; });
  steps_ = uses_.empty() ? 0 : static_cast<std::uint32_t>(log.step_of(uses_.back().access) + 1);
}

}  // namespace gang::sim
