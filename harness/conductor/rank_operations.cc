#include "harness/conductor/rank_operations.h"

#include <utility>

#include <fmt/format.h>

#include "harness/conductor/frame.h"
#include "sim/state/awaited_message.h"

namespace gang::harness {
namespace {

// What a thread waits for until another one of its rank starts the operation.
class OperationStart final : public sim::AwaitedMessage {
 public:
  OperationStart(int rank, std::uint64_t id, const CallSite& call_site)
      : rank_(rank), id_(id), call_site_(call_site) {}

  std::vector<int> awaited_ranks() const override { return {rank_}; }
  bool takes_any() const override { return true; }
  const Collective* call() const override { return nullptr; }
  const GangInfo* gang() const override { return nullptr; }
  std::string describe() const override {
    return fmt::format("wait for operation {}, which no thread has started", id_);
  }
  CallSite call_site() const override { return call_site_; }

 private:
  int rank_;
  std::uint64_t id_;
  CallSite call_site_;
};

}  // namespace

void RankOperations::add(const Operation& operation) {
  const std::uint64_t id = operation->message().id;
  if (!operations_.emplace(id, operation).second)
    throw ProtocolError(fmt::format("operation {} exists already", id));
  if (awaited_ > 0) rank_.announce();
}

RankOperations::Operation RankOperations::find(std::uint64_t id) const {
  const auto operation = operations_.find(id);
  if (operation == operations_.end())
    throw ProtocolError(fmt::format("there is no operation {}", id));
  return operation->second;
}

RankOperations::Operation RankOperations::await(std::uint64_t id, bool may_come,
                                                const CallSite& call_site) {
  const auto has_started = [this, id] { return operations_.contains(id); };
  if (may_come && !has_started()) {
    const OperationStart start(rank_.rank(), id, call_site);
    ++awaited_;
    rank_.await(start, has_started);
    --awaited_;
  }
  return find(id);
}

void RankOperations::erase(std::span<const Operation> operations) {
  for (const Operation& operation : operations) {
    const auto known = operations_.find(operation->message().id);
    if (known != operations_.end() && known->second == operation) operations_.erase(known);
  }
}

void RankOperations::drop(std::uint64_t id) {
  dropped_.push_back(find(id));
  operations_.erase(id);
}

std::vector<RankOperations::Operation> RankOperations::take_rest() {
  for (auto& [id, operation] : operations_) dropped_.push_back(std::move(operation));
  operations_.clear();
  return std::exchange(dropped_, {});
}

}  // namespace gang::harness
