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

  // They are numbered from 0.
  std::uint32_t size() const noexcept { return size_; }

  // The last access, an index in StepLog::accesses, to any of them. Requires one of them.
  std::uint32_t last_access() const noexcept { return last_access_; }

  // The numbers of those that an access, an index in StepLog::accesses, is to.
  std::span<const std::uint32_t> of_access(std::uint32_t access) const noexcept {
    const std::uint32_t begin = access == 0 ? 0 : ends_[access - 1];
    return std::span(numbers_).subspan(begin, ends_[access] - begin);
  }

 private:
  // Modes are bits. What others than the first context do to it is taken for that of several.
  struct Object {
    TaskId first = 0;
    std::uint8_t modes_of_first = 0;
    std::uint8_t modes_of_others = 0;
    bool is_contested = false;
    std::uint32_t number = 0;

    void note(TaskId task, AccessMode mode) noexcept;
  };

  void note_accesses(const StepLog& log, const AnyReceives& known);
  void keep_contested();

  KeyTable keys_;
  std::vector<Object> objects_;
  std::vector<std::uint32_t> numbers_;  // of the accesses, one after the other
  std::vector<std::uint32_t> ends_;     // of an access in numbers_
  std::vector<StepKey> keys_of_access_;
  std::uint32_t size_ = 0;
  std::uint32_t last_access_ = 0;
};

}  // namespace gang::sim
