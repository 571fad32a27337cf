// One operation of a program file on one rank: its buffers, and its call on the gang.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gang/gang.h"
#include "harness/program_file/call.h"
#include "harness/program_file/reserved_memory.h"

namespace gang::harness::program_file {

// Evaluates a call's arguments for one rank, fills its inputs with contributions of that rank, and
// performs it. Must live until the operation is complete. A resource.
class OperationCall {
 public:
  // none: the buffers are addresses that nobody reads or writes.
  enum class Contents : std::uint8_t { filled, none };

  // Allocates and fills the buffers. Throws InvalidArgument with the place for impossible sizes.
  OperationCall(const Call& call, Gang& gang, const Variables& variables,
                Contents contents = Contents::filled);
  OperationCall(const OperationCall&) = delete;
  OperationCall& operator=(const OperationCall&) = delete;

  // Calls the gang: blocks, or starts and returns the work. Throws what the gang throws.
  Work perform();

  // Valid after completion.
  std::span<const TensorView> outputs() const noexcept { return outputs_; }
  const std::shared_ptr<Gang>& created() const noexcept { return created_; }
  const Call& call() const noexcept { return call_; }

 private:
  void prepare();
  void prepare_counts();
  void prepare_lists();
  void prepare_batch();
  void perform_without_tensor();
  void broadcast_objects(const CallOptions& options);

  Shape shape_of(const TensorText& tensor) const;
  TensorView add_input(const TensorText& tensor, int times = 1);
  TensorView add_output(const TensorText& tensor, int times = 1);
  TensorView add_memory(const TensorText& tensor, int times);

  std::int64_t evaluate(const Expression& expression) const;
  int evaluate_small(const std::optional<Expression>& expression, int otherwise) const;
  int root() const { return evaluate_small(call_.peer, 0); }
  int peer() const { return evaluate_small(call_.peer, any_rank); }
  int tag() const { return evaluate_small(call_.tag, any_tag); }
  CallOptions options() const {
    return {.label = call_.label,
            .timeout = call_.duration,
            .mode = call_.starts ? CallMode::started : CallMode::blocking};
  }

  const Call& call_;
  Gang& gang_;
  const Variables variables_;
  const Contents contents_;
  std::vector<std::int64_t> counts_;  // of an all_gather
  std::deque<std::vector<std::byte>> memory_;
  std::deque<ReservedMemory> reserved_;
  std::vector<TensorView> inputs_;
  std::vector<TensorView> outputs_;
  std::vector<PointToPoint> batch_;
  std::shared_ptr<Gang> created_;
};

}  // namespace gang::harness::program_file
