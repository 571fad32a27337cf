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

// A rank's launch on a communicator: one collective, or messages that progress together.
struct NcclKernel {
  enum class State : std::uint8_t { queued, running, done };

  NcclGpu* gpu = nullptr;
  std::shared_ptr<NcclClique> clique;
  int member = 0;
  std::uint64_t serial = 0;  // launch order on its device
  NcclPurpose purpose;
  std::vector<NcclLaunch> operations;
  State state = State::queued;
  std::uint64_t collective = 0;        // while running, its index among its member's
  std::vector<std::size_t> waiting;    // while running, operations without a partner yet
  NcclKernel* differs_from = nullptr;  // the partner that launched another operation
  std::uint64_t step_key = 0;          // what a Guide knows it by

  bool is_collective() const noexcept {
    return operations.front().kind != OperationKind::send &&
           operations.front().kind != OperationKind::recv;
  }
};

// The k-th collectives of all members form one operation; messages match first in, first out per
// pair. Both follow the order in which kernels start on their devices. A kernel spins until all its
// partners have started. Mismatched partners spin forever: NCCL leaves their behavior undefined.
// Link faults affect messages, and collectives as if their data went around a ring of the members:
// a held or lost hop delays all members.
//
// Threads: under the engine's Guard.
class NcclClique {
 public:
  // `name`: unique within the run.
  NcclClique(World& world, std::string name, std::vector<int> root_ranks);

  const std::string& name() const noexcept { return name_; }

  int size() const noexcept { return static_cast<int>(root_ranks_.size()); }
  const std::vector<int>& root_ranks() const noexcept { return root_ranks_; }
  int root_rank_of(int member) const noexcept {
    return root_ranks_[static_cast<std::size_t>(member)];
  }

  // Registers a started kernel. Returns the kernels that this completes, ordered by rank, with
  // their results in place.
  std::vector<NcclKernel*> start(NcclKernel& kernel);

  // Ends the kernel without its partners, which spin forever.
  void withdraw(NcclKernel& kernel);

  // Like start, returns the kernels that complete because link faults no longer delay them.
  std::vector<NcclKernel*> release();

  // The communicator's ranks whose kernels a running kernel waits for, ascending.
  std::vector<int> awaited_by(const NcclKernel& kernel) const;

  // The number of collectives that the member has started.
  std::uint64_t started(int member) const noexcept {
    return started_[static_cast<std::size_t>(member)];
  }

  // A lost member is one whose process or communicator is gone.
  bool has_lost_member() const noexcept { return has_lost_member_; }
  void lose_member() noexcept { has_lost_member_ = true; }

  std::vector<std::uint64_t> assemblies;  // by member: splits and shrinks joined so far

 private:
  struct Slot {
    std::vector<NcclKernel*> members;
    NcclKernel* first = nullptr;  // the reference for the others
    int come = 0;
    bool never_completes = false;                // members differ, or one has withdrawn
    TimePoint held_until{0};                     // by faults; max if lost
    std::map<int, const ArmedFault*> corrupted;  // by receiving member
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
  struct Link {  // from one source to one destination
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
  std::vector<HeldMessage> held_;  // in matching order
  bool has_lost_member_ = false;
};

}  // namespace gang::sim
