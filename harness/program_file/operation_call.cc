#include "harness/program_file/operation_call.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/object.h"
#include "harness/program/contribution.h"

namespace gang::harness::program_file {
namespace {

// `shape` repeated `times` along its first dimension.
Shape repeated(const Shape& shape, int times) {
  if (times == 1) return shape;
  std::vector<std::int64_t> extents{shape.extents().begin(), shape.extents().end()};
  if (extents.empty()) extents.push_back(1);
  extents.front() *= times;
  return Shape{extents};
}

}  // namespace

OperationCall::OperationCall(const Call& call, Gang& gang, const Variables& variables,
                             Contents contents)
    : call_(call), gang_(gang), variables_(variables), contents_(contents) {
  prepare();
}

std::int64_t OperationCall::evaluate(const Expression& expression) const {
  return expression.evaluate(variables_);
}

int OperationCall::evaluate_small(const std::optional<Expression>& expression,
                                  int otherwise) const {
  if (!expression) return otherwise;
  const std::int64_t result = evaluate(*expression);
  if (result != static_cast<int>(result) || result == any_rank || result == any_tag)
    fail_at(call_.place, fmt::format("{} does not fit in 32 bits", result));
  return static_cast<int>(result);
}

Shape OperationCall::shape_of(const TensorText& tensor) const {
  const std::int64_t most_elements = std::int64_t{1} << (contents_ == Contents::filled ? 31 : 40);
  std::vector<std::int64_t> extents;
  std::int64_t count = 1;
  for (const Expression& expression : tensor.extents) {
    const std::int64_t extent = evaluate(expression);
    const bool is_legal = extent >= 0 && extent <= most_elements;
    if (is_legal) count *= extent;
    if (!is_legal || count > most_elements)
      fail_at(call_.place, fmt::format("tensor extent is {}; must be 0 to {} elements in all",
                                       extent, most_elements));
    extents.push_back(extent);
  }
  return Shape{extents};
}

TensorView OperationCall::add_memory(const TensorText& tensor, int times) {
  const Shape shape = repeated(shape_of(tensor), times);
  const auto bytes = static_cast<std::size_t>(shape.count()) * size_bytes(tensor.type);
  if (contents_ == Contents::none)
    return {reserved_.emplace_back(bytes).data(), tensor.type, shape};
  return {memory_.emplace_back(bytes).data(), tensor.type, shape};
}

TensorView OperationCall::add_input(const TensorText& tensor, int times) {
  const TensorView view = add_memory(tensor, times);
  if (contents_ == Contents::filled)
    fill_contribution(view, call_.reduce_operation, static_cast<int>(variables_.rank));
  return inputs_.emplace_back(view);
}

TensorView OperationCall::add_output(const TensorText& tensor, int times) {
  return outputs_.emplace_back(add_memory(tensor, times));
}

void OperationCall::prepare() {
  const TensorText& tensor = call_.tensor;
  switch (call_.operation) {
    case OperationKind::all_reduce:
    case OperationKind::reduce:
    case OperationKind::broadcast:
    case OperationKind::scan:
    case OperationKind::exclusive_scan:
      outputs_.push_back(add_input(tensor));  // In place.
      break;
    case OperationKind::reduce_scatter:
      add_input(tensor, gang_.size());
      add_output(tensor);
      break;
    case OperationKind::all_gather:
      add_input(tensor);
      prepare_counts();
      break;
    case OperationKind::all_to_all:
      add_input(tensor);
      add_output(tensor);
      break;
    case OperationKind::send:
      add_input(tensor);
      break;
    case OperationKind::recv:
      add_output(tensor);
      break;
    case OperationKind::batch:
      prepare_batch();
      break;
    default:
      prepare_lists();
      break;
  }
}

// The output of an all_gather: as many elements from each rank, unless there are counts.
void OperationCall::prepare_counts() {
  if (call_.by_rank.empty()) {
    add_output(call_.tensor, gang_.size());
    return;
  }
  constexpr std::int64_t most = std::int64_t{1} << 41;  // more than a tensor may have
  std::int64_t total = 0;
  for (const Expression& expression : call_.by_rank) {
    counts_.push_back(evaluate(expression));
    total = std::min(most, total + std::clamp<std::int64_t>(counts_.back(), 0, most));
  }
  add_output({call_.tensor.type, {Expression{total}}});
}

void OperationCall::prepare_lists() {
  const bool is_root = root() == gang_.rank();
  if (call_.operation == OperationKind::scatter) {
    for (int i = 0; is_root && i < gang_.size(); ++i) add_input(call_.tensor);
    add_output(call_.tensor);
    return;
  }
  const bool gathers_here = call_.operation == OperationKind::all_gather_to_list ||
                            (call_.operation == OperationKind::gather && is_root);
  if (gathers_here || call_.operation == OperationKind::gather) add_input(call_.tensor);
  for (int i = 0; gathers_here && i < gang_.size(); ++i) add_output(call_.tensor);
}

void OperationCall::prepare_batch() {
  for (const Call& part : call_.batch) {
    const bool sends = part.operation == OperationKind::send;
    batch_.push_back({.kind = part.operation,
                      .tensor = sends ? add_input(part.tensor) : add_output(part.tensor),
                      .peer = evaluate_small(part.peer, any_rank),
                      .tag = evaluate_small(part.tag, any_tag)});
  }
}

Work OperationCall::perform() {
  using enum OperationKind;
  const TensorView in = inputs_.empty() ? TensorView{} : inputs_.front();
  const TensorView out = outputs_.empty() ? TensorView{} : outputs_.front();
  const ReduceOperation operation = call_.reduce_operation;
  const CallOptions with = options();
  const CallSite site = call_.site();
  switch (call_.operation) {
    case all_reduce:
      return gang_.start_all_reduce(in, operation, with, site);
    case reduce:
      return gang_.start_reduce(in, operation, root(), with, site);
    case reduce_scatter:
      return gang_.start_reduce_scatter(out, in, operation, with, site);
    case scan:
      return gang_.start_scan(in, operation, with, site);
    case exclusive_scan:
      return gang_.start_exclusive_scan(in, operation, with, site);
    case broadcast:
      return gang_.start_broadcast(in, root(), with, site);
    case all_gather:
      return counts_.empty() ? gang_.start_all_gather(out, in, with, site)
                             : gang_.start_all_gather(out, in, counts_, with, site);
    case all_gather_to_list:
      return gang_.start_all_gather_to_list(outputs_, in, with, site);
    case gather:
      return gang_.start_gather(outputs_, in, root(), with, site);
    case scatter:
      return gang_.start_scatter(out, inputs_, root(), with, site);
    case all_to_all:
      return gang_.start_all_to_all(out, in, with, site);
    case send:
      return gang_.start_send(in, peer(), tag(), with, site);
    case recv:
      return gang_.start_recv(out, peer(), tag(), with, site);
    case batch:
      return gang_.start_batch(batch_, with, site);
    case barrier:
      return gang_.start_barrier(with, site);
    default:
      perform_without_tensor();
      return {};
  }
}

void OperationCall::perform_without_tensor() {
  const CallSite site = call_.site();
  const GangOptions child{.name = call_.created};
  if (call_.operation == OperationKind::create_gang) {
    std::vector<int> ranks;
    for (const Expression& rank : call_.by_rank) ranks.push_back(evaluate_small(rank, 0));
    created_ = gang_.create_gang(ranks, child, site);
  } else if (call_.operation == OperationKind::split) {
    const Gang::Split split{.color = evaluate_small(call_.color, no_color),
                            .key = evaluate_small(call_.key, 0)};
    created_ = gang_.split(split, child, site);
  } else if (call_.operation == OperationKind::monitored_barrier) {
    gang_.monitored_barrier(
        call_.duration.value_or(gang_.timeout()),
        call_.names_all_missing ? Gang::MissingRanks::all : Gang::MissingRanks::first,
        {.label = call_.label}, site);
  } else {
    broadcast_objects({.label = call_.label, .timeout = call_.duration});
  }
}

void OperationCall::broadcast_objects(const CallOptions& with) {
  const std::int64_t count = call_.count ? evaluate(*call_.count) : 1;
  constexpr std::int64_t most = 1'000'000;
  if (count < 0 || count > most)
    fail_at(call_.place, fmt::format("object count is {}; must be 0 to {}", count, most));
  std::vector<Object> objects(static_cast<std::size_t>(count));
  for (Object& object : objects) object = variables_.rank;
  gang_.broadcast_objects(objects, root(), with, call_.site());
}

}  // namespace gang::harness::program_file
