#include "harness/explanation/grouped_waits.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

using sim::BlockedCall;

constexpr std::size_t most_nodes = 24;

// How much two blocked contexts must share to be one node.
enum class Grouping : std::uint8_t { same_call, same_gang_name, same_operation };

std::string name_of(const std::string& gang) { return gang.substr(0, gang.find('[')); }

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

using Key = std::tuple<bool, std::string, std::string, std::string, std::string, std::vector<int>,
                       std::string>;

Key key_of(const BlockedCall& call, Grouping grouping) {
  Key key{!call.is_core, call.context, call.gang,           call.operation,
          call.location, {},           call.behind_location};
  switch (grouping) {
    case Grouping::same_call:
      std::get<5>(key) = call.waits_for;
      break;
    case Grouping::same_operation:
      std::get<3>(key) = first_word(call.operation);
      [[fallthrough]];
    case Grouping::same_gang_name:
      std::get<2>(key) = name_of(call.gang);
  }
  return key;
}

struct Groups {
  std::vector<std::vector<std::size_t>> members;  // indices of blocked calls
  std::vector<std::size_t> group_of;              // by index of blocked call
};

Groups make_groups(const std::vector<BlockedCall>& blocked, Grouping grouping) {
  std::map<Key, std::size_t> places;
  Groups groups;
  for (std::size_t i = 0; i < blocked.size(); ++i) {
    const auto [place, is_new] =
        places.try_emplace(key_of(blocked[i], grouping), groups.members.size());
    if (is_new) groups.members.emplace_back();
    groups.members[place->second].push_back(i);
    groups.group_of.push_back(place->second);
  }
  return groups;
}

Groups choose_groups(const std::vector<BlockedCall>& blocked) {
  Groups groups = make_groups(blocked, Grouping::same_call);
  if (groups.members.size() > most_nodes) groups = make_groups(blocked, Grouping::same_gang_name);
  if (groups.members.size() > most_nodes) groups = make_groups(blocked, Grouping::same_operation);
  return groups;
}

WaitNode make_node(const std::vector<BlockedCall>& blocked,
                   const std::vector<std::size_t>& members) {
  WaitNode node{.call = &blocked[members.front()]};
  std::set<std::string> gangs;
  for (const std::size_t index : members) {
    const BlockedCall& call = blocked[index];
    node.ranks.push_back(call.rank);
    gangs.insert(call.gang);
    if (node.call_stack.empty()) node.call_stack = call.call_stack;
    if (call.gang != node.call->gang || call.waits_for != node.call->waits_for)
      node.is_alike = false;
  }
  std::ranges::sort(node.ranks);
  node.gang = gangs.size() == 1
                  ? node.call->gang
                  : fmt::format("{} ({} gangs)", name_of(node.call->gang), gangs.size());
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
    if (is_new) waits_.nodes.push_back({.gang = {}, .note = text, .call = nullptr});
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

// Where each group stands: the core first, in the order of the ranks otherwise.
std::vector<std::size_t> order_nodes(GroupedWaits& waits) {
  std::vector<std::size_t> order(waits.nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&waits](std::size_t i) {
    return std::pair(!waits.nodes[i].is_core(), waits.nodes[i].ranks.front());
  });
  std::vector<std::size_t> place_of(order.size());
  std::vector<WaitNode> nodes;
  for (const std::size_t i : order) {
    place_of[i] = nodes.size();
    nodes.push_back(std::move(waits.nodes[i]));
  }
  waits.nodes = std::move(nodes);
  return place_of;
}

}  // namespace

std::string operation_of(const WaitNode& node) {
  return node.is_alike ? node.call->operation : sim::with_any_peer(node.call->operation);
}

GroupedWaits group_waits(const sim::Report& report) {
  const std::vector<BlockedCall>& blocked = report.blocked;
  const Groups groups = choose_groups(blocked);
  GroupedWaits waits;
  for (const auto& members : groups.members) waits.nodes.push_back(make_node(blocked, members));
  const std::vector<std::size_t> place_of = order_nodes(waits);

  std::unordered_map<int, std::set<std::size_t>> nodes_of_rank;
  for (std::size_t i = 0; i < blocked.size(); ++i)
    nodes_of_rank[blocked[i].rank].insert(place_of[groups.group_of[i]]);
  UnblockedNodes unblocked(report, waits);
  std::set<WaitEdge> edges;
  for (std::size_t i = 0; i < blocked.size(); ++i) {
    const std::size_t from = place_of[groups.group_of[i]];
    for (const int rank : blocked[i].waits_for) {
      const auto known = nodes_of_rank.find(rank);
      if (known == nodes_of_rank.end()) {
        edges.insert({from, unblocked.node_of(rank)});
        continue;
      }
      for (const std::size_t to : known->second)
        if (to != from || rank != blocked[i].rank) edges.insert({from, to});
    }
  }
  waits.edges.assign(edges.begin(), edges.end());
  return waits;
}

}  // namespace gang::harness
