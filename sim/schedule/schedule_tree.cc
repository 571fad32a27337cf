#include "sim/schedule/schedule_tree.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace gang::sim {
namespace {

using Node = ScheduleTree::Node;

bool is_before(const Node* a, const Node* b) noexcept {
  return std::tie(a->depth, a->number) < std::tie(b->depth, b->number);
}

// Which begin_another() keeps: a few megabytes.
constexpr std::size_t most_kept_nodes = 4096;

}  // namespace

bool ScheduleTree::Node::sleeps(StepKey other) const noexcept {
  return std::ranges::find(sleeping, other, &SleepingStep::context) != sleeping.end();
}

bool ScheduleTree::Node::knows(StepKey other) const noexcept {
  return std::ranges::find(all_tried(), other, &Tried::context) != all_tried().end() ||
         sleeps(other) || (running && running->context == other) ||
         std::ranges::find(left, other, &Alternative::context) != left.end();
}

ScheduleTree::Node* ScheduleTree::add(Node* parent, StepKey context) {
  if (free_.empty()) {
    nodes_.push_back(std::make_unique<Node>());
    free_.push_back(nodes_.back().get());
  }
  Node* node = free_.back();
  free_.pop_back();
  node->parent = parent;
  node->context = context;
  node->depth = parent == nullptr ? 0 : parent->depth + 1;
  node->children = 0;
  node->number = next_number_++;
  node->bytes = 0;
  node->is_listed = node->is_pick = false;
  node->enabled = 0;
  node->sleeping.clear();
  node->tried_count = 0;
  node->left.clear();
  node->running.reset();
  if (parent != nullptr) ++parent->children;
  return node;
}

std::vector<Access>& ScheduleTree::try_context(Node& node, StepKey context) {
  if (node.tried.size() == node.tried_count) node.tried.emplace_back();
  Tried& tried = node.tried[node.tried_count++];
  tried.context = context;
  tried.accesses.clear();
  return tried.accesses;
}

void ScheduleTree::weigh(Node& node) noexcept {
  node.bytes = sizeof(Node) + sizeof(Tried) + node.sleeping.size() * sizeof(SleepingStep) +
               node.tried.front().accesses.size() * sizeof(Access);
  bytes_ += node.bytes;
}

void ScheduleTree::open(Node& node) {
  if (node.is_listed || node.running) return;
  node.is_listed = true;
  open_.push_back(&node);
  std::ranges::push_heap(open_, is_before);
}

ScheduleTree::Node* ScheduleTree::take_open() {
  if (open_.empty()) return nullptr;
  std::ranges::pop_heap(open_, is_before);
  Node* node = open_.back();
  open_.pop_back();
  node->is_listed = false;
  return node;
}

void ScheduleTree::release(Node* node) {
  while (node != nullptr && node->children == 0 && node->left.empty() && !node->running &&
         !node->is_listed) {
    Node* parent = node->parent;
    if (parent != nullptr) --parent->children;
    free_.push_back(node);
    bytes_ -= node->bytes;
    node = parent;
  }
}

void ScheduleTree::clear() {
  std::ranges::move(nodes_, std::back_inserter(former_nodes_));
  nodes_.clear();
  free_.clear();
  open_.clear();
  bytes_ = 0;
}

void ScheduleTree::begin_another() {
  if (nodes_.size() > most_kept_nodes) nodes_.clear();
  former_nodes_.clear();
  free_.clear();
  for (const auto& node : nodes_) free_.push_back(node.get());
  open_.clear();
  bytes_ = 0;
  next_number_ = 0;
}

}  // namespace gang::sim
