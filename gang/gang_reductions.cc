// all_reduce, reduce and reduce_scatter.
#include "gang/operation_checks.h"

namespace gang {
namespace {

Operation begin_reduction(Call& call, OperationKind kind, const TensorView& tensor,
                          ReduceOperation reduce_operation) {
  Operation operation = begin_operation(call, kind);
  check_tensor(call, "tensor", tensor);
  check_reduction(call, reduce_operation, tensor.type());
  describe_size(operation, tensor);
  operation.collective.reduce_operation = reduce_operation;
  operation.input = tensor;
  operation.output = tensor;
  return operation;
}

void set_output(const Call& call, const TensorView& output, Operation& operation) {
  check_tensor(call, "output", output);
  check_alike(call, "output", output, operation.input);
  check_overlap(call, output, operation.input, Identical::accepted);
  operation.output = output;
}

// In place where `output` is null.
Operation describe_all_reduce(Call call, const TensorView* output, const TensorView& input,
                              ReduceOperation reduce_operation) {
  Operation operation = begin_reduction(call, OperationKind::all_reduce, input, reduce_operation);
  if (output != nullptr) set_output(call, *output, operation);
  return operation;
}

Operation describe_reduce(Call call, const TensorView* output, const TensorView& input,
                          ReduceOperation reduce_operation, int destination_rank) {
  Operation operation = begin_reduction(call, OperationKind::reduce, input, reduce_operation);
  check_rank(call, "destination_rank", destination_rank);
  operation.collective.peer = destination_rank;
  if (call.gang.rank() != destination_rank)
    operation.output = TensorView();
  else if (output != nullptr)
    set_output(call, *output, operation);
  return operation;
}

Operation describe_reduce_scatter(Call call, const TensorView& output, const TensorView& input,
                                  ReduceOperation reduce_operation) {
  Operation operation = begin_operation(call, OperationKind::reduce_scatter);
  check_tensor(call, "output", output);
  check_tensor(call, "input", input);
  check_chunks(call, "input", input, output);
  check_overlap(call, output, input, Identical::accepted);
  check_reduction(call, reduce_operation, input.type());
  describe_size(operation, output);
  operation.collective.reduce_operation = reduce_operation;
  operation.input = input;
  operation.output = output;
  return operation;
}

}  // namespace

void Gang::all_reduce(const TensorView& tensor, ReduceOperation operation,
                      const CallOptions& options, CallSite call_site) {
  run(describe_all_reduce({*this, options, call_site}, nullptr, tensor, operation));
}

void Gang::all_reduce(const TensorView& output, const TensorView& input, ReduceOperation operation,
                      const CallOptions& options, CallSite call_site) {
  run(describe_all_reduce({*this, options, call_site}, &output, input, operation));
}

Work Gang::start_all_reduce(const TensorView& tensor, ReduceOperation operation,
                            const CallOptions& options, CallSite call_site) {
  return start(describe_all_reduce({*this, options, call_site}, nullptr, tensor, operation));
}

Work Gang::start_all_reduce(const TensorView& output, const TensorView& input,
                            ReduceOperation operation, const CallOptions& options,
                            CallSite call_site) {
  return start(describe_all_reduce({*this, options, call_site}, &output, input, operation));
}

void Gang::reduce(const TensorView& tensor, ReduceOperation operation, int destination_rank,
                  const CallOptions& options, CallSite call_site) {
  run(describe_reduce({*this, options, call_site}, nullptr, tensor, operation, destination_rank));
}

void Gang::reduce(const TensorView& output, const TensorView& input, ReduceOperation operation,
                  int destination_rank, const CallOptions& options, CallSite call_site) {
  run(describe_reduce({*this, options, call_site}, &output, input, operation, destination_rank));
}

Work Gang::start_reduce(const TensorView& tensor, ReduceOperation operation, int destination_rank,
                        const CallOptions& options, CallSite call_site) {
  return start(
      describe_reduce({*this, options, call_site}, nullptr, tensor, operation, destination_rank));
}

Work Gang::start_reduce(const TensorView& output, const TensorView& input,
                        ReduceOperation operation, int destination_rank, const CallOptions& options,
                        CallSite call_site) {
  return start(
      describe_reduce({*this, options, call_site}, &output, input, operation, destination_rank));
}

void Gang::reduce_scatter(const TensorView& output, const TensorView& input,
                          ReduceOperation operation, const CallOptions& options,
                          CallSite call_site) {
  run(describe_reduce_scatter({*this, options, call_site}, output, input, operation));
}

Work Gang::start_reduce_scatter(const TensorView& output, const TensorView& input,
                                ReduceOperation operation, const CallOptions& options,
                                CallSite call_site) {
  return start(describe_reduce_scatter({*this, options, call_site}, output, input, operation));
}

}  // namespace gang
