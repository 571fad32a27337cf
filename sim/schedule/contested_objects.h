// Which objects of a run its contexts access in ways that do not commute.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/schedule/key_table.h"
#include "sim/schedule/step_log.h"

namespace gang::sim {

// An object is contested if two contexts access it in ways that do not commute; for all others (and
// some that are taken for contested) the order of the steps does not matter. One object of this
// class can read many logs, one after the other, and then takes no memory for most of them.
class ContestedObjects {
 public:
  // Of messages, `known` says which receives could take either of two. O(accesses).
  void read(const StepLog& log, const AnyReceives& known);

  // Objects are numbered from 0, contested or not.
  std::uint32_t objects() const noexcept { return static_cast<std::uint32_t>(objects_.size()); }
  bool is_contested(std::uint32_t object) const noexcept { return objects_[object].is_contested; }

  // After so many steps, none accesses one that is contested.
  std::uint32_t steps() const noexcept { return steps_; }

  // The numbers of those that an access, an index in StepLog::accesses, is to: of a message, of the
  // receives that could take it.
  std::span<const std::uint32_t> of_access(std::uint32_t access) const noexcept {
    const std::uint32_t begin = access == 0 ? 0 : ends_[access - 1];
    return std::span(numbers_).subspan(begin, ends_[access] - begin);
  }

 private:
  // What others than the first context do to it is taken for that of several.
  struct Object {
    TaskId first = 0;
    std::uint32_t last_step = 0;
    AccessModes of_first;
    AccessModes of_others;
    bool is_contested = false;

    bool conflicts() const noexcept;
  };

  void note(StepKey object, TaskId task, AccessMode mode, std::uint32_t step);

  KeyTable keys_;
  std::vector<Object> objects_;
  std::vector<std::uint32_t> numbers_;  // of the accesses, one after the other
  std::vector<std::uint32_t> ends_;     // of an access in numbers_
  std::vector<StepKey> keys_of_access_;
  std::uint32_t steps_ = 0;
};

}  // namespace gang::sim
