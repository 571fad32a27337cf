// all_reduce, reduce, reduce_scatter and the scans.
#include "gang/operation_checks.h"

namespace gang {
namespace {

[[gnu::always_inline]] inline void begin_reduction(Call& call, OperationKind kind,
                                                   const TensorView& input,
                                                   ReduceOperation reduce_operation) {
  begin(call, kind);
  check_tensor(call, "tensor", input);
  check_reduction(call, reduce_operation, input.type());
}

// `output` may be `input` itself: in place.
[[gnu::always_inline]] inline void check_output(const Call& call, const TensorView& output,
                                                const TensorView& input) {
  if (&output == &input) return;
  check_tensor(call, "output", output);
  check_alike(call, "output", output, input);
  check_overlap(call, output, input, Identical::accepted);
}

[[gnu::always_inline]] inline Operation describe_all_reduce(Call call, const TensorView& output,
                                                            const TensorView& input,
                                                            ReduceOperation reduce_operation) {
  begin_reduction(call, OperationKind::all_reduce, input, reduce_operation);
  check_output(call, output, input);
  return operation_of(
      call,
      {.sized = input, .input = input, .output = output, .reduce_operation = reduce_operation});
}

[[gnu::always_inline]] inline Operation describe_reduce(Call call, const TensorView& output,
                                                        const TensorView& input,
                                                        ReduceOperation reduce_operation,
                                                        int destination_rank) {
  begin_reduction(call, OperationKind::reduce, input, reduce_operation);
  check_rank(call, "destination_rank", destination_rank);
  const bool is_destination = call.gang.rank() == destination_rank;
  if (is_destination) check_output(call, output, input);
  return operation_of(call, {.sized = input,
                             .input = input,
                             .output = is_destination ? output : no_tensor,
                             .reduce_operation = reduce_operation,
                             .peer = destination_rank});
}

[[gnu::always_inline]] inline Operation describe_reduce_scatter(Call call, const TensorView& output,
                                                                const TensorView& input,
                                                                ReduceOperation reduce_operation) {
  begin(call, OperationKind::reduce_scatter);
  check_tensor(call, "output", output);
  check_tensor(call, "input", input);
  check_chunks(call, "input", input, output);
  check_overlap(call, output, input, Identical::accepted);
  check_reduction(call, reduce_operation, input.type());
  return operation_of(
      call,
      {.sized = output, .input = input, .output = output, .reduce_operation = reduce_operation});
}

[[gnu::always_inline]] inline Operation describe_scan(Call call, OperationKind kind,
                                                      const TensorView& output,
                                                      const TensorView& input,
                                                      ReduceOperation reduce_operation) {
  begin_reduction(call, kind, input, reduce_operation);
  if (reduce_operation == ReduceOperation::mean)
    refuse(call, "mean is not defined for a scan; use sum, and divide");
  check_output(call, output, input);
  const bool gets_nothing = kind == OperationKind::exclusive_scan && call.gang.rank() == 0;
  return operation_of(call, {.sized = input,
                             .input = input,
                             .output = gets_nothing ? no_tensor : output,
                             .reduce_operation = reduce_operation});
}

}  // namespace

void Gang::all_reduce(const TensorView& tensor, ReduceOperation operation,
                      const CallOptions& options, CallSite call_site) {
  run(describe_all_reduce({*this, options, call_site}, tensor, tensor, operation));
}

void Gang::all_reduce(const TensorView& output, const TensorView& input, ReduceOperation operation,
                      const CallOptions& options, CallSite call_site) {
  run(describe_all_reduce({*this, options, call_site}, output, input, operation));
}

Work Gang::start_all_reduce(const TensorView& tensor, ReduceOperation operation,
                            const CallOptions& options, CallSite call_site) {
  return start(describe_all_reduce({*this, options, call_site}, tensor, tensor, operation),
               options.mode);
}

Work Gang::start_all_reduce(const TensorView& output, const TensorView& input,
                            ReduceOperation operation, const CallOptions& options,
                            CallSite call_site) {
  return start(describe_all_reduce({*this, options, call_site}, output, input, operation),
               options.mode);
}

void Gang::reduce(const TensorView& tensor, ReduceOperation operation, int destination_rank,
                  const CallOptions& options, CallSite call_site) {
  run(describe_reduce({*this, options, call_site}, tensor, tensor, operation, destination_rank));
}

void Gang::reduce(const TensorView& output, const TensorView& input, ReduceOperation operation,
                  int destination_rank, const CallOptions& options, CallSite call_site) {
  run(describe_reduce({*this, options, call_site}, output, input, operation, destination_rank));
}

Work Gang::start_reduce(const TensorView& tensor, ReduceOperation operation, int destination_rank,
                        const CallOptions& options, CallSite call_site) {
  return start(
      describe_reduce({*this, options, call_site}, tensor, tensor, operation, destination_rank),
      options.mode);
}

Work Gang::start_reduce(const TensorView& output, const TensorView& input,
                        ReduceOperation operation, int destination_rank, const CallOptions& options,
                        CallSite call_site) {
  return start(
      describe_reduce({*this, options, call_site}, output, input, operation, destination_rank),
      options.mode);
}

void Gang::reduce_scatter(const TensorView& output, const TensorView& input,
                          ReduceOperation operation, const CallOptions& options,
                          CallSite call_site) {
  run(describe_reduce_scatter({*this, options, call_site}, output, input, operation));
}

Work Gang::start_reduce_scatter(const TensorView& output, const TensorView& input,
                                ReduceOperation operation, const CallOptions& options,
                                CallSite call_site) {
  return start(describe_reduce_scatter({*this, options, call_site}, output, input, operation),
               options.mode);
}

void Gang::scan(const TensorView& tensor, ReduceOperation operation, const CallOptions& options,
                CallSite call_site) {
  run(describe_scan({*this, options, call_site}, OperationKind::scan, tensor, tensor, operation));
}

void Gang::scan(const TensorView& output, const TensorView& input, ReduceOperation operation,
                const CallOptions& options, CallSite call_site) {
  run(describe_scan({*this, options, call_site}, OperationKind::scan, output, input, operation));
}

Work Gang::start_scan(const TensorView& tensor, ReduceOperation operation,
                      const CallOptions& options, CallSite call_site) {
  return start(
      describe_scan({*this, options, call_site}, OperationKind::scan, tensor, tensor, operation),
      options.mode);
}

Work Gang::start_scan(const TensorView& output, const TensorView& input, ReduceOperation operation,
                      const CallOptions& options, CallSite call_site) {
  return start(
      describe_scan({*this, options, call_site}, OperationKind::scan, output, input, operation),
      options.mode);
}

void Gang::exclusive_scan(const TensorView& tensor, ReduceOperation operation,
                          const CallOptions& options, CallSite call_site) {
  run(describe_scan({*this, options, call_site}, OperationKind::exclusive_scan, tensor, tensor,
                    operation));
}

void Gang::exclusive_scan(const TensorView& output, const TensorView& input,
                          ReduceOperation operation, const CallOptions& options,
                          CallSite call_site) {
  run(describe_scan({*this, options, call_site}, OperationKind::exclusive_scan, output, input,
                    operation));
}

Work Gang::start_exclusive_scan(const TensorView& tensor, ReduceOperation operation,
                                const CallOptions& options, CallSite call_site) {
  return start(describe_scan({*this, options, call_site}, OperationKind::exclusive_scan, tensor,
                             tensor, operation),
               options.mode);
}

Work Gang::start_exclusive_scan(const TensorView& output, const TensorView& input,
                                ReduceOperation operation, const CallOptions& options,
                                CallSite call_site) {
  return start(describe_scan({*this, options, call_site}, OperationKind::exclusive_scan, output,
                             input, operation),
               options.mode);
}

}  // namespace gang
