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
  // What an access, an index in StepLog::accesses, is to: of a message, one of the receives that
  // could take it, or of the looks that could see it.
  struct Use {
    std::uint32_t access = 0;
    std::uint32_t object = 0;
    AccessMode mode = AccessMode::read;
  };

  // Of messages, `known` says which receives could take either of two. O(accesses).
  void read(const StepLog& log, const Knowledge& known);

  // Of the contested objects, in the order of the accesses.
  const std::vector<Use>& uses() const noexcept { return uses_; }
  // Their numbers are below.
  std::uint32_t objects() const noexcept { return static_cast<std::uint32_t>(objects_.size()); }

  // After so many steps, none accesses one that is contested.
  std::uint32_t steps() const noexcept { return steps_; }

 private:
  // What others than the first context do to it is taken for that of several.
  struct Object {
    TaskId first = 0;
    AccessModes of_first;
    AccessModes of_others;
    bool is_contested = false;

    bool conflicts() const noexcept;
  };

  void note(const UsedObject& used, TaskId task, std::uint32_t access);

  KeyTable keys_;
  std::vector<Object> objects_;
  std::vector<Use> uses_;
  std::vector<UsedObject> of_message_;
  std::uint32_t steps_ = 0;
};

}  // namespace gang::sim
