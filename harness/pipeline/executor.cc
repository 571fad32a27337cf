#include "harness/pipeline/executor.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

// The messages that a rank has made or received and still needs. Their memory keeps its place and
// is reused.
class HeldMessages {
 public:
  explicit HeldMessages(const StageWork& work) : work_(work) {}

  // New memory for `message`.
  TensorView add(const PipelineMessage& message) {
    const StageBoundary boundary = boundary_of(message);
    std::vector<std::byte> bytes;
    if (!free_.empty()) {
      bytes = std::move(free_.back());
      free_.pop_back();
    }
    bytes.resize(static_cast<std::size_t>(boundary.count) * size_bytes(boundary.type));
    held_.push_back({message, std::move(bytes)});
    most_ = std::max(most_, held_.size());
    return view_of_bytes(held_.back(), boundary);
  }

  TensorView find(const PipelineMessage& message) {
    return view_of_bytes(*place_of(message), boundary_of(message));
  }

  void drop(const PipelineMessage& message) {
    const auto place = place_of(message);
    free_.push_back(std::move(place->bytes));
    held_.erase(place);
  }

  std::size_t most() const noexcept { return most_; }

 private:
  struct Held {
    PipelineMessage message;
    std::vector<std::byte> bytes;
  };

  StageBoundary boundary_of(const PipelineMessage& message) const {
    const bool is_activation = message.payload == Payload::activation;
    return work_.boundary_before(is_activation ? message.to_stage : message.to_stage + 1);
  }

  static TensorView view_of_bytes(Held& held, const StageBoundary& boundary) {
    return {held.bytes.data(), boundary.type, Shape::vector(boundary.count)};
  }

  std::vector<Held>::iterator place_of(const PipelineMessage& message) {
    const auto place = std::ranges::find(held_, message, &Held::message);
    if (place == held_.end())
      throw InvalidOperation(fmt::format("the {} is missing", to_string(message)));
    return place;
  }

  const StageWork& work_;
  std::vector<Held> held_;
  std::vector<std::vector<std::byte>> free_;
  std::size_t most_ = 0;
};

class Execution {
 public:
  Execution(Gang& pp, const MessagePlan& plan, StageWork& work, CallSite call_site)
      : pp_(pp), plan_(plan), work_(work), call_site_(call_site), messages_(work) {}

  std::size_t run() {
    for (const PipelineAction& action : plan_.by_rank[static_cast<std::size_t>(pp_.rank())]) {
      if (const auto* pass = std::get_if<StagePass>(&action))
        compute(*pass);
      else
        exchange(std::get<std::vector<PipelineTransfer>>(action));
    }
    return messages_.most();
  }

 private:
  void compute(const StagePass& pass) {
    PassTensors tensors;
    const bool makes = makes_message(pass, plan_.sizes);
    const bool needs = needs_message(pass, plan_.sizes);
    if (makes) tensors.output = messages_.add(made_by(pass));
    if (needs) tensors.input = messages_.find(needed_by(pass));
    work_.compute(pass, tensors);
    if (needs) messages_.drop(needed_by(pass));
  }

  void exchange(const std::vector<PipelineTransfer>& transfers) {
    if (plan_.form == SendForm::one_by_one) {
      for (const PipelineTransfer& transfer : transfers) exchange_alone(transfer);
    } else {
      batch_.clear();
      for (const PipelineTransfer& transfer : transfers)
        batch_.push_back({.kind = transfer.kind,
                          .tensor = tensor_of(transfer),
                          .peer = transfer.peer,
                          .tag = transfer.tag});
      pp_.batch(batch_, {}, call_site_);
    }
    for (const PipelineTransfer& transfer : transfers)
      if (transfer.kind == OperationKind::send) messages_.drop(transfer.message);
  }

  void exchange_alone(const PipelineTransfer& transfer) {
    const TensorView tensor = tensor_of(transfer);
    if (transfer.kind == OperationKind::send)
      pp_.send(tensor, transfer.peer, transfer.tag, {}, call_site_);
    else
      pp_.recv(tensor, transfer.peer, transfer.tag, {}, call_site_);
  }

  TensorView tensor_of(const PipelineTransfer& transfer) {
    return transfer.kind == OperationKind::send ? messages_.find(transfer.message)
                                                : messages_.add(transfer.message);
  }

  Gang& pp_;
  const MessagePlan& plan_;
  StageWork& work_;
  CallSite call_site_;
  HeldMessages messages_;
  std::vector<PointToPoint> batch_;
};

}  // namespace

std::size_t run_pipeline(Gang& pp, const MessagePlan& plan, StageWork& work, CallSite call_site) {
  if (pp.size() != plan.sizes.ranks)
    throw InvalidArgument(fmt::format("the plan is for {} ranks, but {} has {}", plan.sizes.ranks,
                                      label_of(pp.info()), pp.size()));
  return Execution(pp, plan, work, call_site).run();
}

}  // namespace gang::harness
