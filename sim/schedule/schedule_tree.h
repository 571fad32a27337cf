// The states that runs have come through, as far as another one may begin there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/schedule/guide.h"
#include "sim/schedule/reversals.h"
#include "sim/schedule/step_log.h"

namespace gang::sim {

// A tree: each node is the state before a step. Nodes at which nothing is left are given back, from
// the leaves on.
class ScheduleTree {
 public:
  struct Alternative {
    StepKey context = 0;
    StepKey instead_of = 0;
    Contest contest;
  };
  // A context whose step has been made here.
  struct Tried {
    StepKey context = 0;
    std::vector<Access> accesses;
  };
  struct Node {
    Node* parent = nullptr;
    StepKey context = 0;  // which made the step from the parent to here
    std::uint32_t depth = 0;
    std::uint32_t children = 0;
    std::uint64_t number = 0;  // in the order of their making
    std::size_t bytes = 0;
    bool is_listed = false;              // among the open ones
    bool is_pick = false;                // those that could make the step are ways of a pick
    std::uint64_t enabled = 0;           // StepLog::digest_of_enabled
    std::vector<SleepingStep> sleeping;  // accesses are those of ancestors' tried
    std::vector<Tried> tried;
    std::size_t tried_count = 0;  // of `tried`: the rest is spare memory
    std::vector<Alternative> left;
    std::optional<Alternative> running;  // of `left`: a run of it is under way

    std::span<const Tried> all_tried() const noexcept {
      return std::span(tried).first(tried_count);
    }
    bool sleeps(StepKey other) const noexcept;
    // Whether what follows a step of that context here has been seen or will be.
    bool knows(StepKey other) const noexcept;
  };

  // A node for the state after `parent`, or the first one.
  Node* add(Node* parent, StepKey context);
  // The accesses of the step that `context` has made here, to be filled.
  static std::vector<Access>& try_context(Node& node, StepKey context);

  // The node is as large as it will be, nearly.
  void weigh(Node& node) noexcept;

  // Something is left to be tried at the node.
  void open(Node& node);
  // The deepest node where something is left and nothing is running; the latest of several.
  Node* take_open();

  // Gives back the node and its ancestors, as far as nothing is left there.
  void release(Node* node);
  // Forgets all nodes. What they hold stays as it is: runs that are under way may refer to it.
  void clear();
  // The same where no run is under way: the memory of the nodes is used again, unless it is much.
  void begin_another();

  // Of all nodes, about.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Node>> former_nodes_;  // runs may refer to them
  std::vector<Node*> free_;
  std::vector<Node*> open_;  // a heap
  std::size_t bytes_ = 0;
  std::uint64_t next_number_ = 0;
};

}  // namespace gang::sim
