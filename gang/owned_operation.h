// An operation that outlives the call that described it.
#pragma once

#include <memory>

#include "gang/operation.h"

namespace gang {

// Keeps a copy of everything that an Operation borrows, except the tensors' memory, which belongs
// to the operation until it completes, and the results of blocking calls (`packed`, `created`). For
// backends that continue after do_start has returned. Pinned.
class OwnedOperation {
 public:
  explicit OwnedOperation(const Operation& operation) : operation_(operation) {
    const bool borrows = operation.extras != &no_extras || !operation.guarded.empty() ||
                         !operation.collective.label.empty();
    if (borrows) [[unlikely]]
      own_lists();
  }
  OwnedOperation(const OwnedOperation&) = delete;
  OwnedOperation& operator=(const OwnedOperation&) = delete;

  Operation& get() noexcept { return operation_; }

 private:
  struct Lists;
  struct Drop {
    void operator()(const Lists* lists) const noexcept;
  };
  void own_lists();

  Operation operation_;
  std::unique_ptr<const Lists, Drop> lists_;  // null: it borrows none
};

}  // namespace gang
