#include "harness/program_file/sizes_only_gang.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "gang/forwarding_gang.h"

namespace gang::harness::program_file {
namespace {

// The first elements of a tensor: one for each `unit` that it has.
Elements smaller(const Elements& tensor, std::int64_t unit) {
  return tensor.part(0, tensor.count() / std::max<std::int64_t>(1, unit));
}

// A call that is described as before, with an element where there were many; outlives the call.
class SmallOperation {
 public:
  SmallOperation(const Operation& operation, int size, MessageSizes messages)
      : small_(operation), extras_(*operation.extras) {
    Collective& call = small_.collective;
    const bool has_chunks = call.kind == OperationKind::all_to_all;
    const std::int64_t unit = has_chunks ? operation.input.count() / size : call.shape.count();
    small_.input = smaller(operation.input, unit);
    small_.output = smaller(operation.output, unit);
    for (const TensorView& input : operation.extras->inputs)
      inputs_.push_back(smaller(input, unit).as_vector());
    for (const TensorView& output : operation.extras->outputs)
      outputs_.push_back(smaller(output, unit).as_vector());
    for (PointToPoint message : operation.extras->batch) {
      message.tensor = smaller(message.tensor, message.tensor.count()).as_vector();
      batch_.push_back(message);
    }
    extras_.inputs = inputs_;
    extras_.outputs = outputs_;
    extras_.batch = batch_;
    small_.extras = &extras_;
    small_.guarded = {};
    const bool is_message = call.kind == OperationKind::send || call.kind == OperationKind::recv;
    if (is_message && messages == MessageSizes::unknown) call.count = 1;
  }

  Operation& operator*() noexcept { return small_; }

 private:
  Operation small_;
  OperationExtras extras_;
  std::vector<TensorView> inputs_;
  std::vector<TensorView> outputs_;
  std::vector<PointToPoint> batch_;
};

class SizesOnlyGang final : public ForwardingGang {
 public:
  SizesOnlyGang(std::shared_ptr<Gang> inner, MessageSizes messages)
      : ForwardingGang(std::move(inner)), messages_(messages) {}

 protected:
  Work do_start(Operation& operation) override {
    SmallOperation small(operation, size(), messages_);
    return ForwardingGang::do_start(*small);
  }

  Received do_run(Operation& operation) override {
    SmallOperation small(operation, size(), messages_);
    return ForwardingGang::do_run(*small);
  }

  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override {
    return std::make_shared<SizesOnlyGang>(std::move(child), messages_);
  }

 private:
  MessageSizes messages_;
};

}  // namespace

std::shared_ptr<Gang> without_data(const std::shared_ptr<Gang>& root, MessageSizes messages) {
  if (root->info().backend != "sim") return root;
  auto* const decorator = dynamic_cast<ForwardingGang*>(root.get());
  if (decorator == nullptr) return std::make_shared<SizesOnlyGang>(root, messages);
  const std::shared_ptr<Gang>* inner = &decorator->shared_inner();
  while (const auto* const next = dynamic_cast<ForwardingGang*>(inner->get()))
    inner = &next->shared_inner();
  return decorator->decorated(std::make_shared<SizesOnlyGang>(*inner, messages));
}

}  // namespace gang::harness::program_file
