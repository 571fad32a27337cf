#include "harness/cost/cost_account.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "gang/forwarding_gang.h"

namespace gang::harness {
namespace {

using Account = CostAccounts::Account;

// The link among all members.
Link link_of(const GangInfo& info, const CostModel& model) {
  for (const int rank : info.root_ranks)
    if (model.node_of(rank) != model.node_of(info.root_ranks.front())) return Link::inter_node;
  return Link::intra_node;
}

class CountingGang final : public ForwardingGang {
 public:
  CountingGang(std::shared_ptr<Gang> inner, CostAccounts& accounts, int root_rank)
      : ForwardingGang(std::move(inner)),
        accounts_(accounts),
        account_(accounts.open(root_rank)),
        root_rank_(root_rank),
        link_(link_of(info(), accounts.model())) {}

 protected:
  void after(const Operation& operation) override {
    const Collective& call = operation.collective;
    const Link link = is_point_to_point(call.kind) ? message_link(operation) : link_;
    const OperationCost cost{call.kind, size(), link, bytes_of(operation)};
    OperationCount& count = count_of(cost);
    ++count.calls;
    count.bytes += cost.bytes;
    count.seconds += seconds_of(cost, *account_.model);
  }

  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override {
    return std::make_shared<CountingGang>(std::move(child), accounts_, root_rank_);
  }

 private:
  Link link_to(int peer) const {
    if (peer < 0 || info().root_ranks.empty()) return link_;
    const int root_rank = info().root_ranks[static_cast<std::size_t>(peer)];
    const CostModel& model = *account_.model;
    return model.node_of(root_rank) == model.node_of(root_rank_) ? Link::intra_node
                                                                 : Link::inter_node;
  }

  Link message_link(const Operation& operation) const {
    if (operation.collective.kind != OperationKind::batch)
      return link_to(operation.collective.peer);
    const bool leaves = std::ranges::any_of(operation.batch, [this](const PointToPoint& entry) {
      return link_to(entry.peer) == Link::inter_node;
    });
    return leaves ? Link::inter_node : Link::intra_node;
  }

  std::int64_t bytes_of(const Operation& operation) const {
    const Collective& call = operation.collective;
    const auto part = call.count * static_cast<std::int64_t>(size_bytes(call.data_type));
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
        return static_cast<std::int64_t>(operation.packed->size());
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
    for (const PointToPoint& entry : operation.batch) {
      (entry.kind == OperationKind::send ? sent : received) +=
          static_cast<std::int64_t>(entry.tensor.size_bytes());
    }
    return std::max(sent, received);
  }

  OperationCount& count_of(const OperationCost& cost) {
    for (OperationCount& count : account_.counts)
      if (count.kind == cost.kind && count.link == cost.link) return count;
    return account_.counts.emplace_back(
        OperationCount{.gang = name(), .size = cost.size, .link = cost.link, .kind = cost.kind});
  }

  CostAccounts& accounts_;
  Account& account_;
  int root_rank_;
  Link link_;
};

auto order_of(const OperationCount& count) {
  return std::tie(count.gang, count.size, count.link, count.kind);
}

// Counts of the same gangs and kind as one.
std::vector<OperationCount> merged(std::vector<OperationCount> counts) {
  std::ranges::stable_sort(counts, [](const OperationCount& left, const OperationCount& right) {
    return order_of(left) < order_of(right);
  });
  std::vector<OperationCount> merged;
  for (OperationCount& count : counts) {
    if (merged.empty() || order_of(merged.back()) != order_of(count)) {
      merged.push_back(std::move(count));
      continue;
    }
    merged.back().calls += count.calls;
    merged.back().bytes += count.bytes;
    merged.back().seconds += count.seconds;
  }
  return merged;
}

}  // namespace

CostAccounts::CostAccounts(int world_size, const CostModel& model)
    : model_(model), by_rank_(static_cast<std::size_t>(world_size)) {}

std::shared_ptr<Gang> CostAccounts::count(std::shared_ptr<Gang> gang, int rank) {
  {
    const std::lock_guard lock(mutex_);
    by_rank_[static_cast<std::size_t>(rank)].clear();
  }
  return std::make_shared<CountingGang>(std::move(gang), *this, rank);
}

CostAccounts::Account& CostAccounts::open(int rank) {
  const std::lock_guard lock(mutex_);
  auto& accounts = by_rank_[static_cast<std::size_t>(rank)];
  accounts.push_back(std::make_unique<Account>(Account{.model = &model_, .counts = {}}));
  return *accounts.back();
}

RankCounts CostAccounts::take() {
  const std::lock_guard lock(mutex_);
  RankCounts counts;
  for (auto& accounts : by_rank_) {
    std::vector<OperationCount> of_rank;
    for (auto& account : accounts) std::ranges::move(account->counts, std::back_inserter(of_rank));
    counts.push_back(merged(std::move(of_rank)));
    accounts.clear();
  }
  return counts;
}

Program counted(Program program, std::shared_ptr<CostAccounts> accounts) {
  program.run = [run = std::move(program.run), accounts = std::move(accounts)](Rank& rank) {
    const std::shared_ptr<Gang> root = accounts->count(rank.root(), rank.rank());
    Rank counting(rank, root);
    run(counting);
  };
  return program;
}

}  // namespace gang::harness
