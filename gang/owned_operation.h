// An operation that outlives the call that described it.
#pragma once

#include <string>
#include <vector>

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

  Operation& get() noexcept { return operation_; }

 private:
  Operation operation_;
  std::vector<TensorView> inputs_;
  std::vector<TensorView> outputs_;
  std::vector<std::int64_t> input_splits_;
  std::vector<std::int64_t> output_splits_;
  std::vector<PointToPoint> batch_;
  std::vector<int> ranks_;
  std::vector<TensorView> guarded_;
  std::string label_;
};

}  // namespace gang
