#include "harness/cost/cost_account.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include <nlohmann/json.hpp>

#include "gang/forwarding_gang.h"

namespace gang::harness {
namespace {

using nlohmann::json;

// Where the operations of one gang are counted. Threads: as for the gang.
using GangAccount = std::vector<OperationCount>;

// Where one rank's operations are counted. Threads: any.
class RankAccount {
 public:
  explicit RankAccount(const CostModel& model) : model_(model) {}

  const CostModel& model() const noexcept { return model_; }

  // A new account, valid as long as this one.
  GangAccount& open() {
    const std::lock_guard lock(mutex_);
    return accounts_.emplace_back();
  }

  // The sums over all accounts, once no gang is in use.
  std::vector<OperationCount> sums() {
    const std::lock_guard lock(mutex_);
    OperationSums sums;
    for (const GangAccount& account : accounts_) sums.add(account);
    return sums.take();
  }

 private:
  CostModel model_;
  std::mutex mutex_;
  std::deque<GangAccount> accounts_;
};

// The link among all members.
Link link_of(const GangInfo& info, const CostModel& model) {
  for (const int rank : info.root_ranks)
    if (model.node_of(rank) != model.node_of(info.root_ranks.front())) return Link::inter_node;
  return Link::intra_node;
}

class CountingGang final : public ForwardingGang {
 public:
  CountingGang(std::shared_ptr<Gang> inner, std::shared_ptr<RankAccount> account, int root_rank)
      : ForwardingGang(std::move(inner)),
        account_(std::move(account)),
        counts_(account_->open()),
        root_rank_(root_rank),
        link_(link_of(info(), account_->model())) {}

 protected:
  void after(const Operation& operation) override {
    const Collective& call = operation.collective;
    const Link link = is_point_to_point(call.kind) ? message_link(operation) : link_;
    const OperationCost cost{call.kind, size(), link, bytes_of(operation)};
    OperationCount& count = count_of(cost);
    ++count.calls;
    count.bytes += cost.bytes;
    count.seconds += seconds_of(cost, account_->model());
  }

  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override {
    return std::make_shared<CountingGang>(std::move(child), account_, root_rank_);
  }

 private:
  Link link_to(int peer) const {
    if (peer < 0 || info().root_ranks.empty()) return link_;
    const int root_rank = info().root_ranks[static_cast<std::size_t>(peer)];
    const CostModel& model = account_->model();
    return model.node_of(root_rank) == model.node_of(root_rank_) ? Link::intra_node
                                                                 : Link::inter_node;
  }

  Link message_link(const Operation& operation) const {
    if (operation.collective.kind != OperationKind::batch)
      return link_to(operation.collective.peer);
    const bool leaves = std::ranges::any_of(
        operation.extras->batch,
        [this](const PointToPoint& entry) { return link_to(entry.peer) == Link::inter_node; });
    return leaves ? Link::inter_node : Link::intra_node;
  }

  std::int64_t bytes_of(const Operation& operation) const {
    const Collective& call = operation.collective;
    const auto part = call.count * static_cast<std::int64_t>(size_bytes(call.data_type));
    const bool counts_all =
        call.kind == OperationKind::all_gather && !operation.extras->output_splits.empty();
    if (counts_all) return part;
    switch (call.kind) {
      case OperationKind::reduce_scatter:
      case OperationKind::all_gather:
      case OperationKind::all_gather_to_list:
      case OperationKind::gather:
      case OperationKind::scatter:
        return part * size();
      case OperationKind::all_to_all:
        return static_cast<std::int64_t>(operation.input.size_bytes());
      case OperationKind::broadcast_objects:
        return static_cast<std::int64_t>(operation.extras->packed->size());
      case OperationKind::batch:
        return bytes_of_batch(operation);
      case OperationKind::barrier:
      case OperationKind::monitored_barrier:
      case OperationKind::create_gang:
      case OperationKind::split:
        return 0;
      default:
        return part;
    }
  }

  static std::int64_t bytes_of_batch(const Operation& operation) {
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (const PointToPoint& entry : operation.extras->batch)
      (entry.kind == OperationKind::send ? sent : received) +=
          static_cast<std::int64_t>(entry.tensor.size_bytes());
    return std::max(sent, received);
  }

  OperationCount& count_of(const OperationCost& cost) {
    for (OperationCount& count : counts_)
      if (count.kind == cost.kind && count.link == cost.link) return count;
    return counts_.emplace_back(
        OperationCount{.gang = name(), .size = cost.size, .link = cost.link, .kind = cost.kind});
  }

  std::shared_ptr<RankAccount> account_;
  GangAccount& counts_;
  int root_rank_;
  Link link_;
};

std::string to_note(const std::vector<OperationCount>& counts) {
  json value = json::array();
  for (const OperationCount& count : counts)
    value.push_back({count.gang, count.size, static_cast<int>(count.link),
                     static_cast<int>(count.kind), count.calls, count.bytes, count.seconds});
  std::string note;
  json::to_msgpack(value, note);
  return note;
}

std::vector<OperationCount> from_note(const std::string& note) {
  std::vector<OperationCount> counts;
  if (note.empty()) return counts;
  for (const json& value : json::from_msgpack(note)) {
    counts.push_back({.gang = value.at(0),
                      .size = value.at(1),
                      .link = static_cast<Link>(value.at(2).get<int>()),
                      .kind = static_cast<OperationKind>(value.at(3).get<int>()),
                      .calls = value.at(4),
                      .bytes = value.at(5),
                      .seconds = value.at(6)});
  }
  return counts;
}

}  // namespace

void OperationSums::add(const std::vector<OperationCount>& counts) {
  for (const OperationCount& count : counts) {
    OperationCount none{
        .gang = count.gang, .size = count.size, .link = count.link, .kind = count.kind};
    OperationCount& sum =
        sums_.try_emplace({count.gang, count.size, count.link, count.kind}, std::move(none))
            .first->second;
    sum.calls += count.calls;
    sum.bytes += count.bytes;
    sum.seconds += count.seconds;
  }
}

std::vector<OperationCount> OperationSums::take() {
  std::vector<OperationCount> counts;
  for (auto& [key, count] : sums_) counts.push_back(std::move(count));
  return counts;
}

Program counted(Program program, const CostModel& model) {
  program.run = [run = std::move(program.run), model](Rank& rank) {
    const auto account = std::make_shared<RankAccount>(model);
    const std::shared_ptr<Gang> root =
        std::make_shared<CountingGang>(rank.root(), account, rank.rank());
    Rank counting(rank, root);
    try {
      run(counting);
    } catch (...) {
      rank.note(to_note(account->sums()));
      throw;
    }
    rank.note(to_note(account->sums()));
  };
  return program;
}

RankCounts counts_of(const RunResult& result) {
  RankCounts counts;
  for (const std::string& note : result.notes) counts.push_back(from_note(note));
  return counts;
}

}  // namespace gang::harness
