// The members of a simulated communicator, and the kernels that meet in it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gang/nccl/nccl_api.h"
#include "sim/matching/interference.h"

namespace gang::sim {

struct World;
class NcclClique;
class NcclGpu;

// What one rank has launched on a communicator: one collective, or messages that progress together.
struct NcclKernel {
  enum class State : std::uint8_t { queued, running, done };

  NcclGpu* gpu = nullptr;
  std::shared_ptr<NcclClique> clique;
  int member = 0;
  std::uint64_t serial = 0;  // the order of launching on its device
  NcclPurpose purpose;
  std::vector<NcclLaunch> operations;
  State state = State::queued;
  std::uint64_t collective = 0;        // while running, the how-manieth of its member
  std::vector<std::size_t> waiting;    // operations without a partner yet, while running
  NcclKernel* differs_from = nullptr;  // met in its place, but another operation

  bool is_collective() const noexcept {
    return operations.front().kind != OperationKind::send &&
           operations.front().kind != OperationKind::recv;
  }
};

// The k-th collective of every member is one operation, messages match first in, first out per
// pair: in the order in which kernels start on their devices. A kernel spins until all its partners
// have started. Partners that differ spin for ever: what NCCL makes of them is undefined.
// Faults of links befall messages, and collectives as if these went from each member to the next:
// one that is held or lost holds up all of them.
//
// Threads: under the engine's Guard.
class NcclClique {
 public:
  // `name`: no other's of the run.
  NcclClique(World& world, std::string name, std::vector<int> root_ranks);

  const std::string& name() const noexcept { return name_; }

  int size() const noexcept { return static_cast<int>(root_ranks_.size()); }
  const std::vector<int>& root_ranks() const noexcept { return root_ranks_; }
  int root_rank_of(int member) const noexcept {
    return root_ranks_[static_cast<std::size_t>(member)];
  }

  // The kernel has started. Returns those that are complete with it, in the order of their ranks;
  // results are in place.
  std::vector<NcclKernel*> start(NcclKernel& kernel);

  // The kernel ends without its partners: these spin for ever.
  void withdraw(NcclKernel& kernel);

  // Those that are complete now that faults of links hold them up no more, as from start.
  std::vector<NcclKernel*> release();

  // Ranks of the communicator whose kernels a running one waits for, ascending.
  std::vector<int> awaited_by(const NcclKernel& kernel) const;

  // How many collectives the member has started.
  std::uint64_t started(int member) const noexcept {
    return started_[static_cast<std::size_t>(member)];
  }

  // A member whose process or communicator is gone.
  bool has_lost_member() const noexcept { return has_lost_member_; }
  void lose_member() noexcept { has_lost_member_ = true; }

  std::vector<std::uint64_t> assemblies;  // by member: splits and shrinks it has taken part in

 private:
  struct Slot {
    std::vector<NcclKernel*> members;
    NcclKernel* first = nullptr;  // whom the others are compared with
    int come = 0;
    bool never_completes = false;                // members differ, or one has withdrawn
    TimePoint held_until{0};                     // by faults; max: it is lost
    std::map<int, const ArmedFault*> corrupted;  // by the member that gets it
  };
  struct Message {
    NcclKernel* kernel = nullptr;
    std::size_t operation = 0;
  };
  struct HeldMessage {
    Message send;
    Message receive;
    TimePoint until;
  };
  struct Link {  // of a source and a destination
    std::deque<Message> sends;
    std::deque<Message> receives;
  };

  std::vector<NcclKernel*> start_collective(NcclKernel& kernel);
  std::vector<NcclKernel*> start_messages(NcclKernel& kernel);
  void cross_links(Slot& slot);
  std::vector<NcclKernel*> complete(std::uint64_t collective);
  void compute(const Slot& slot);
  static bool fits(const Message& send, const Message& receive);
  void pass(const Message& send, const Message& receive);
  bool deliver(const Message& send, const Message& receive);
  bool is_on_its_way(const NcclKernel& kernel, std::size_t operation) const;

  World& world_;
  const std::string name_;
  std::vector<int> root_ranks_;
  std::vector<std::uint64_t> started_;
  std::map<std::uint64_t, Slot> slots_;
  std::map<std::pair<int, int>, Link> links_;
  std::vector<HeldMessage> held_;  // in the order of their matching
  bool has_lost_member_ = false;
};

}  // namespace gang::sim
