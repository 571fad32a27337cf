#include "harness/explanation/grouped_waits.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace gang::harness {
namespace {

using sim::BlockedCall;

constexpr std::size_t most_nodes = 24;

WaitNode make_node(sim::CallGroup group) {
  WaitNode node{.ranks = group.ranks()};
  for (const BlockedCall* call : group.calls)
    if (node.call_stack.empty()) node.call_stack = call->call_stack;
  node.group = std::move(group);
  return node;
}

// What is known of ranks that made no call: from where they part from the others, or from how they
// ended.
std::unordered_map<int, std::string> notes_of(const sim::Report& report) {
  std::unordered_map<int, std::string> notes;
  for (const sim::Finding& finding : report.findings) {
    if (!finding.divergence) continue;
    for (const sim::CallSummary& next : finding.divergence->next) {
      if (next.note.empty()) continue;
      for (const int rank : next.ranks) notes.try_emplace(rank, next.note);
    }
  }
  for (const sim::TimelineLane& lane : report.timeline.lanes) {
    if (lane.end == sim::LaneEnd::none || !lane.context.empty()) continue;
    const bool has_failed = lane.end == sim::LaneEnd::failed;
    for (const int rank : lane.ranks)
      notes.try_emplace(rank, has_failed ? "ended with an exception" : "returned");
  }
  return notes;
}

// Nodes for the ranks that are waited for and not blocked: those of one note share one.
class UnblockedNodes {
 public:
  UnblockedNodes(const sim::Report& report, GroupedWaits& waits)
      : notes_(notes_of(report)), waits_(waits) {}

  std::size_t node_of(int rank) {
    const auto note = notes_.find(rank);
    const std::string text = note == notes_.end() ? "not blocked" : note->second;
    const auto [place, is_new] = nodes_.try_emplace(text, waits_.nodes.size());
    if (is_new) waits_.nodes.push_back({.note = text});
    std::vector<int>& ranks = waits_.nodes[place->second].ranks;
    const auto spot = std::ranges::lower_bound(ranks, rank);
    if (spot == ranks.end() || *spot != rank) ranks.insert(spot, rank);
    return place->second;
  }

 private:
  std::unordered_map<int, std::string> notes_;
  std::map<std::string, std::size_t> nodes_;
  GroupedWaits& waits_;
};

}  // namespace

GroupedWaits group_waits(const sim::Report& report) {
  std::vector<const BlockedCall*> blocked;
  for (const BlockedCall& call : report.blocked) blocked.push_back(&call);
  GroupedWaits waits;
  for (sim::CallGroup& group : sim::group_calls(blocked, sim::CallSharing::kind, most_nodes))
    waits.nodes.push_back(make_node(std::move(group)));
  std::ranges::stable_sort(waits.nodes, {}, [](const WaitNode& node) {
    return std::pair(!node.is_core(), node.ranks.front());
  });

  std::unordered_map<int, std::set<std::size_t>> nodes_of_rank;
  for (std::size_t i = 0; i < waits.nodes.size(); ++i)
    for (const int rank : waits.nodes[i].ranks) nodes_of_rank[rank].insert(i);
  UnblockedNodes unblocked(report, waits);
  std::set<WaitEdge> edges;
  const std::size_t blocked_nodes = waits.nodes.size();
  for (std::size_t from = 0; from < blocked_nodes; ++from) {
    const std::vector<const BlockedCall*> calls = waits.nodes[from].group->calls;
    for (const BlockedCall* call : calls)
      for (const int rank : call->waits_for) {
        const auto known = nodes_of_rank.find(rank);
        if (known == nodes_of_rank.end()) {
          edges.insert({from, unblocked.node_of(rank)});
          continue;
        }
        for (const std::size_t to : known->second)
          if (to != from || rank != call->rank) edges.insert({from, to});
      }
  }
  waits.edges.assign(edges.begin(), edges.end());
  return waits;
}

}  // namespace gang::harness
