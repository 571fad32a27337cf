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
  explicit OwnedOperation(const Operation& operation);
  OwnedOperation(const OwnedOperation&) = delete;
  OwnedOperation& operator=(const OwnedOperation&) = delete;
  ~OwnedOperation();

  Operation& get() noexcept { return operation_; }

 private:
  struct Lists;
  void own_lists();

  Operation operation_;
  std::unique_ptr<const Lists> lists_;  // null: it borrows none
};

}  // namespace gang
