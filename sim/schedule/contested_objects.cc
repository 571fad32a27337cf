#include "sim/schedule/contested_objects.h"

#include <algorithm>

namespace gang::sim {
namespace {

// How objects other than those of messages are accessed.
AccessModes modes_of(const StepLog& log) noexcept {
  AccessModes found;
  for (const Access& access : log.accesses)
    if (access.kind != AccessKind::message) found.add(access.mode);
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

inline void ContestedObjects::note(StepKey object, const Access& access, std::uint32_t index) {
  const std::uint32_t known = keys_.size();
  const std::uint32_t number = keys_.number_of(object);
  if (number == known) objects_.push_back({.first = access.task});
  Object& noted = objects_[number];
  (access.task == noted.first ? noted.of_first : noted.of_others).add(access.mode);
  uses_.push_back({index, number});
}

void ContestedObjects::read(const StepLog& log, const AnyReceives& known) {
  keys_.clear();
  objects_.clear();
  uses_.clear();
  const AccessModes modes = modes_of(log);
  std::uint32_t index = 0;
  for (const Access& access : log.accesses) {
    if (access.kind == AccessKind::message) {
      keys_of_access_.clear();
      add_objects(access, known, keys_of_access_);
      for (const StepKey key : keys_of_access_) note(key, access, index);
    } else if (!(AccessModes::conflicting_with(access.mode) & modes).empty()) {
      note(access.object, access, index);
    }
    ++index;
  }
  for (Object& object : objects_) object.is_contested = object.conflicts();
  std::erase_if(uses_, [this](const Use& use) { return !objects_[use.object].is_contested; });
  steps_ = uses_.empty() ? 0 : static_cast<std::uint32_t>(log.step_of(uses_.back().access) + 1);
}

}  // namespace gang::sim
