// all_reduce, reduce and reduce_scatter.
#include "gang/operation_checks.h"

namespace gang {
namespace {

Operation describe_in_place(const Call& call, const TensorView& tensor,
                            ReduceOperation reduce_operation) {
  Operation operation;
  begin_operation(call, operation);
  check_tensor(call, "tensor", tensor);
  check_reduction(call, reduce_operation, tensor.type());
  describe_size(operation, tensor);
  operation.collective.reduce_operation = reduce_operation;
  operation.input = tensor;
  operation.output = tensor;
  return operation;
}

Operation describe_all_reduce(const Call& call, const TensorView& output, const TensorView& input,
                              ReduceOperation reduce_operation) {
  Operation operation = describe_in_place(call, input, reduce_operation);
  check_tensor(call, "output", output);
  check_alike(call, "output", output, input);
  check_overlap(call, output, input, Identical::accepted);
  operation.output = output;
  return operation;
}

Operation describe_reduce(const Call& call, const TensorView* output, const TensorView& input,
                          ReduceOperation reduce_operation, int destination_rank) {
  Operation operation = describe_in_place(call, input, reduce_operation);
  check_rank(call, "destination_rank", destination_rank);
  operation.collective.peer = destination_rank;
  if (call.gang.rank() != destination_rank) {
    operation.output = TensorView();
  } else if (output != nullptr) {
    check_tensor(call, "output", *output);
    check_alike(call, "output", *output, input);
    check_overlap(call, *output, input, Identical::accepted);
    operation.output = *output;
  }
  return operation;
}

Operation describe_reduce_scatter(const Call& call, const TensorView& output,
                                  const TensorView& input, ReduceOperation reduce_operation) {
  Operation operation;
  begin_operation(call, operation);
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
  const Call call{*this, OperationKind::all_reduce, CallForm::blocking, options, call_site};
  Operation described = describe_in_place(call, tensor, operation);
  do_run(described);
}

void Gang::all_reduce(const TensorView& output, const TensorView& input, ReduceOperation operation,
                      const CallOptions& options, CallSite call_site) {
  const Call call{*this, OperationKind::all_reduce, CallForm::blocking, options, call_site};
  Operation described = describe_all_reduce(call, output, input, operation);
  do_run(described);
}

Work Gang::start_all_reduce(const TensorView& tensor, ReduceOperation operation,
                            const CallOptions& options, CallSite call_site) {
  const Call call{*this, OperationKind::all_reduce, CallForm::started, options, call_site};
  Operation described = describe_in_place(call, tensor, operation);
  return do_start(described);
}

Work Gang::start_all_reduce(const TensorView& output, const TensorView& input,
                            ReduceOperation operation, const CallOptions& options,
                            CallSite call_site) {
  const Call call{*this, OperationKind::all_reduce, CallForm::started, options, call_site};
  Operation described = describe_all_reduce(call, output, input, operation);
  return do_start(described);
}

void Gang::reduce(const TensorView& tensor, ReduceOperation operation, int destination_rank,
                  const CallOptions& options, CallSite call_site) {
  const Call call{*this, OperationKind::reduce, CallForm::blocking, options, call_site};
  Operation described = describe_reduce(call, nullptr, tensor, operation, destination_rank);
  do_run(described);
}

void Gang::reduce(const TensorView& output, const TensorView& input, ReduceOperation operation,
                  int destination_rank, const CallOptions& options, CallSite call_site) {
  const Call call{*this, OperationKind::reduce, CallForm::blocking, options, call_site};
  Operation described = describe_reduce(call, &output, input, operation, destination_rank);
  do_run(described);
}

Work Gang::start_reduce(const TensorView& tensor, ReduceOperation operation, int destination_rank,
                        const CallOptions& options, CallSite call_site) {
  const Call call{*this, OperationKind::reduce, CallForm::started, options, call_site};
  Operation described = describe_reduce(call, nullptr, tensor, operation, destination_rank);
  return do_start(described);
}

Work Gang::start_reduce(const TensorView& output, const TensorView& input,
                        ReduceOperation operation, int destination_rank, const CallOptions& options,
                        CallSite call_site) {
  const Call call{*this, OperationKind::reduce, CallForm::started, options, call_site};
  Operation described = describe_reduce(call, &output, input, operation, destination_rank);
  return do_start(described);
}

void Gang::reduce_scatter(const TensorView& output, const TensorView& input,
                          ReduceOperation operation, const CallOptions& options,
                          CallSite call_site) {
  const Call call{*this, OperationKind::reduce_scatter, CallForm::blocking, options, call_site};
  Operation described = describe_reduce_scatter(call, output, input, operation);
  do_run(described);
}

Work Gang::start_reduce_scatter(const TensorView& output, const TensorView& input,
                                ReduceOperation operation, const CallOptions& options,
                                CallSite call_site) {
  const Call call{*this, OperationKind::reduce_scatter, CallForm::started, options, call_site};
  Operation described = describe_reduce_scatter(call, output, input, operation);
  return do_start(described);
}

}  // namespace gang
