// all_gather, all_gather_to_list, gather, scatter and all_to_all.
#include <optional>

#include <fmt/format.h>

#include "gang/hash.h"
#include "gang/operation_checks.h"

namespace gang {
namespace {

[[gnu::always_inline]] inline Operation describe_all_gather(Call call, const TensorView& output,
                                                            const TensorView& input) {
  begin(call, OperationKind::all_gather);
  check_tensor(call, "output", output);
  check_tensor(call, "input", input);
  check_chunks(call, "output", output, input);
  check_overlap(call, output, input, Identical::accepted);
  return operation_of(call, {.sized = input, .input = input, .output = output});
}

// The elements of `tensor` by rank.
void check_splits(const Call& call, std::string_view role, std::span<const std::int64_t> splits,
                  std::string_view tensor_role, const TensorView& tensor) {
  const auto size = static_cast<std::size_t>(call.gang.size());
  if (splits.size() != size) throw_bad_list(call, role, splits.size(), size);
  std::int64_t rest = tensor.count();
  for (const std::int64_t split : splits) {
    if (split < 0)
      refuse(call, fmt::format("an entry of {} is {}; must be 0 or more", role, split));
    rest -= split;
    if (rest < 0) break;
  }
  if (rest != 0)
    throw_other_count(call, tensor_role, tensor, fmt::format("as many as {} add up to", role));
}

// What follows refers to `extras`, which the caller keeps until the call has been made.

[[gnu::always_inline]] inline Operation describe_uneven_all_gather(Call call,
                                                                   const TensorView& output,
                                                                   const TensorView& input,
                                                                   const OperationExtras& extras) {
  const std::span<const std::int64_t> counts = extras.output_splits;
  begin(call, OperationKind::all_gather);
  check_tensor(call, "output", output);
  check_tensor(call, "input", input);
  check_same_type(call, "output", output, input);
  check_overlap(call, output, input, Identical::accepted);
  check_splits(call, "counts", counts, "output", output);
  const std::int64_t own = counts[static_cast<std::size_t>(call.gang.rank())];
  if (input.count() != own)
    throw_other_count(call, "input", input,
                      fmt::format("{}, as counts[{}]", own, call.gang.rank()));
  Operation operation = operation_of(call, {.sized = output, .input = input, .output = output});
  operation.extras = &extras;
  operation.collective.detail = fnv1a(std::as_bytes(counts));
  return operation;
}

[[gnu::always_inline]] inline Operation describe_all_gather_to_list(Call call,
                                                                    const OperationExtras& extras,
                                                                    const TensorView& input) {
  begin(call, OperationKind::all_gather_to_list);
  check_tensor(call, "input", input);
  check_list(call, "outputs", extras.outputs, input);
  Operation operation = operation_of(call, {.sized = input, .input = input});
  operation.extras = &extras;
  return operation;
}

// The list of a rooted operation, and the extras that have it: none where there is no list, as on
// most ranks.
class ListOnRoot {
 public:
  [[gnu::always_inline]] ListOnRoot(std::span<const TensorView> list,
                                    std::span<const TensorView> OperationExtras::* place)
      : list_(list) {
    if (!list.empty()) extras_.emplace().*place = list;
  }

  std::span<const TensorView> list() const noexcept { return list_; }
  const OperationExtras* extras() const noexcept { return extras_ ? &*extras_ : &no_extras; }

 private:
  std::span<const TensorView> list_;
  std::optional<OperationExtras> extras_;
};

// The list of a rooted operation: like `single` on the root, empty elsewhere.
[[gnu::always_inline]] inline void check_rooted_list(const Call& call, std::string_view role,
                                                     std::span<const TensorView> list,
                                                     const TensorView& single, int root) {
  if (call.gang.rank() == root)
    check_list(call, role, list, single);
  else if (!list.empty()) [[unlikely]]
    throw_bad_list(call, role, list.size(), 0);
}

[[gnu::always_inline]] inline Operation describe_gather(Call call, const ListOnRoot& outputs,
                                                        const TensorView& input,
                                                        int destination_rank) {
  begin(call, OperationKind::gather);
  check_rank(call, "destination_rank", destination_rank);
  check_tensor(call, "input", input);
  check_rooted_list(call, "outputs", outputs.list(), input, destination_rank);
  Operation operation =
      operation_of(call, {.sized = input, .input = input, .peer = destination_rank});
  operation.extras = outputs.extras();
  return operation;
}

[[gnu::always_inline]] inline Operation describe_scatter(Call call, const TensorView& output,
                                                         const ListOnRoot& inputs,
                                                         int source_rank) {
  begin(call, OperationKind::scatter);
  check_rank(call, "source_rank", source_rank);
  check_tensor(call, "output", output);
  check_rooted_list(call, "inputs", inputs.list(), output, source_rank);
  Operation operation =
      operation_of(call, {.sized = output, .output = output, .peer = source_rank});
  operation.extras = inputs.extras();
  return operation;
}

void begin_all_to_all(Call& call, const TensorView& output, const TensorView& input) {
  begin(call, OperationKind::all_to_all);
  check_tensor(call, "output", output);
  check_tensor(call, "input", input);
  check_same_type(call, "output", output, input);
  check_overlap(call, output, input, Identical::refused);
}

[[gnu::always_inline]] inline Operation describe_all_to_all(Call call, const TensorView& output,
                                                            const TensorView& input) {
  begin_all_to_all(call, output, input);
  check_alike(call, "output", output, input);
  if (input.count() % call.gang.size() != 0)
    throw_other_count(call, "input", input, "a multiple of " + std::to_string(call.gang.size()));
  return operation_of(call, {.sized = input, .input = input, .output = output});
}

[[gnu::always_inline]] inline Operation describe_uneven_all_to_all(Call call,
                                                                   const TensorView& output,
                                                                   const TensorView& input,
                                                                   const OperationExtras& extras) {
  begin_all_to_all(call, output, input);
  check_splits(call, "splits.output", extras.output_splits, "output", output);
  check_splits(call, "splits.input", extras.input_splits, "input", input);
  // Ranks may have different counts, so none is described; backends compare them pair by pair.
  const TensorView undescribed(nullptr, input.type(), Shape::vector(0));
  Operation operation =
      operation_of(call, {.sized = undescribed, .input = input, .output = output});
  operation.extras = &extras;
  return operation;
}

}  // namespace

void Gang::all_gather(const TensorView& output, const TensorView& input, const CallOptions& options,
                      CallSite call_site) {
  run(describe_all_gather({*this, options, call_site}, output, input));
}

Work Gang::start_all_gather(const TensorView& output, const TensorView& input,
                            const CallOptions& options, CallSite call_site) {
  return start(describe_all_gather({*this, options, call_site}, output, input), options.mode);
}

void Gang::all_gather(const TensorView& output, const TensorView& input,
                      std::span<const std::int64_t> counts, const CallOptions& options,
                      CallSite call_site) {
  run(describe_uneven_all_gather({*this, options, call_site}, output, input,
                                 {.output_splits = counts}));
}

Work Gang::start_all_gather(const TensorView& output, const TensorView& input,
                            std::span<const std::int64_t> counts, const CallOptions& options,
                            CallSite call_site) {
  return start(describe_uneven_all_gather({*this, options, call_site}, output, input,
                                          {.output_splits = counts}),
               options.mode);
}

void Gang::all_gather_to_list(std::span<const TensorView> outputs, const TensorView& input,
                              const CallOptions& options, CallSite call_site) {
  run(describe_all_gather_to_list({*this, options, call_site}, {.outputs = outputs}, input));
}

Work Gang::start_all_gather_to_list(std::span<const TensorView> outputs, const TensorView& input,
                                    const CallOptions& options, CallSite call_site) {
  return start(
      describe_all_gather_to_list({*this, options, call_site}, {.outputs = outputs}, input),
      options.mode);
}

void Gang::gather(std::span<const TensorView> outputs, const TensorView& input,
                  int destination_rank, const CallOptions& options, CallSite call_site) {
  run(describe_gather({*this, options, call_site}, {outputs, &OperationExtras::outputs}, input,
                      destination_rank));
}

Work Gang::start_gather(std::span<const TensorView> outputs, const TensorView& input,
                        int destination_rank, const CallOptions& options, CallSite call_site) {
  return start(describe_gather({*this, options, call_site}, {outputs, &OperationExtras::outputs},
                               input, destination_rank),
               options.mode);
}

void Gang::scatter(const TensorView& output, std::span<const TensorView> inputs, int source_rank,
                   const CallOptions& options, CallSite call_site) {
  run(describe_scatter({*this, options, call_site}, output, {inputs, &OperationExtras::inputs},
                       source_rank));
}

Work Gang::start_scatter(const TensorView& output, std::span<const TensorView> inputs,
                         int source_rank, const CallOptions& options, CallSite call_site) {
  return start(describe_scatter({*this, options, call_site}, output,
                                {inputs, &OperationExtras::inputs}, source_rank),
               options.mode);
}

void Gang::all_to_all(const TensorView& output, const TensorView& input, const CallOptions& options,
                      CallSite call_site) {
  run(describe_all_to_all({*this, options, call_site}, output, input));
}

Work Gang::start_all_to_all(const TensorView& output, const TensorView& input,
                            const CallOptions& options, CallSite call_site) {
  return start(describe_all_to_all({*this, options, call_site}, output, input), options.mode);
}

void Gang::all_to_all(const TensorView& output, const TensorView& input, const SplitSizes& splits,
                      const CallOptions& options, CallSite call_site) {
  run(describe_uneven_all_to_all({*this, options, call_site}, output, input,
                                 {.input_splits = splits.input, .output_splits = splits.output}));
}

Work Gang::start_all_to_all(const TensorView& output, const TensorView& input,
                            const SplitSizes& splits, const CallOptions& options,
                            CallSite call_site) {
  return start(
      describe_uneven_all_to_all({*this, options, call_site}, output, input,
                                 {.input_splits = splits.input, .output_splits = splits.output}),
      options.mode);
}

}  // namespace gang
