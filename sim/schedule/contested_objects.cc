#include "sim/schedule/contested_objects.h"

#include <array>

namespace gang::sim {
namespace {

constexpr std::uint8_t bit_of(AccessMode mode) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(mode));
}

// By mode: those that do not commute with it.
constexpr std::array<std::uint8_t, access_modes> conflicting = [] {
  std::array<std::uint8_t, access_modes> found{};
  for (std::size_t a = 0; a < access_modes; ++a)
    for (std::size_t b = 0; b < access_modes; ++b)
      if (conflict(static_cast<AccessMode>(a), static_cast<AccessMode>(b)))
        found[a] |= bit_of(static_cast<AccessMode>(b));
  return found;
}();

}  // namespace

void ContestedObjects::Object::note(TaskId task, AccessMode mode) noexcept {
  const bool is_first = task == first;
  const unsigned of_another = modes_of_others | (is_first ? 0U : modes_of_first);
  is_contested |= (conflicting[static_cast<std::size_t>(mode)] & of_another) != 0;
  (is_first ? modes_of_first : modes_of_others) |= bit_of(mode);
}

void ContestedObjects::read(const StepLog& log, const AnyReceives& known) {
  note_accesses(log, known);
  size_ = 0;
  for (Object& object : objects_)
    if (object.is_contested) object.number = size_++;
  keep_contested();
}

// numbers_ has those of all objects then.
void ContestedObjects::note_accesses(const StepLog& log, const AnyReceives& known) {
  keys_.clear();
  objects_.clear();
  numbers_.clear();
  ends_.resize(log.accesses.size());
  std::uint32_t* end = ends_.data();
  for (const StepMark& mark : log.marks) {
    if (mark.kind != StepMark::Kind::access) continue;
    const Access& access = log.accesses[mark.value];
    const auto note = [&](StepKey key) {
      const std::uint32_t number = keys_.number_of(key);
      if (number == objects_.size()) objects_.push_back({.first = mark.task});
      Object& object = objects_[number];
      if (!object.is_contested) object.note(mark.task, access.mode);
      numbers_.push_back(number);
    };
    if (access.kind != AccessKind::message) {
      note(access.object);
    } else {
      keys_of_access_.clear();
      add_objects(access, known, keys_of_access_);
      for (const StepKey key : keys_of_access_) note(key);
    }
    *end++ = static_cast<std::uint32_t>(numbers_.size());
  }
}

void ContestedObjects::keep_contested() {
  std::uint32_t read = 0;
  std::uint32_t kept = 0;
  last_access_ = 0;
  for (std::uint32_t& end : ends_) {
    const std::uint32_t kept_before = kept;
    for (; read < end; ++read)
      if (const Object& object = objects_[numbers_[read]]; object.is_contested)
        numbers_[kept++] = object.number;
    if (kept != kept_before) last_access_ = static_cast<std::uint32_t>(&end - ends_.data());
    end = kept;
  }
  numbers_.resize(kept);
}

}  // namespace gang::sim
