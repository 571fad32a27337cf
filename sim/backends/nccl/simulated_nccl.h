// The devices of a simulated world, and the meetings of its hosts.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gang/nccl/nccl_api.h"
#include "gang/nccl/nccl_meeting.h"
#include "sim/backends/nccl/nccl_assembly.h"
#include "sim/backends/nccl/nccl_gpu.h"
#include "sim/backends/strikes.h"

namespace gang::sim {

struct World;

// Stands in for GPUs, a network and a store; one instance serves all ranks of a run.
//
// Threads: the contexts of its run.
class SimulatedNccl final : public NcclMeeting {
 public:
  explicit SimulatedNccl(World& world);

  World& world() const noexcept { return world_; }
  NcclGpu& gpu_of(int rank) noexcept { return gpus_[static_cast<std::size_t>(rank)]; }

  // NCCL and CUDA as the rank sees them. From now on, the current context's rank drives the device:
  // its own or, like a process that hosts several ranks, another's.
  std::shared_ptr<NcclApi> api_of(int rank);

  // NcclMeeting
  std::vector<std::optional<std::string>> meet(const NcclAppointment& appointment,
                                               std::string_view own) override;
  std::string decide(const std::string& key, std::string_view proposal) override;
  void leave_note(const std::string& gang_key, std::string_view text) noexcept override;
  std::optional<std::string> find_note(const std::string& gang_key) noexcept override;

  // -- For the api, under the engine's Guard ------------------------------------------------------

  // From here on the run may depend on the schedule.
  void note_choice_point() noexcept;

  // The host of `gpu` looks how far that is with what was launched at `call_site`. Where the
  // schedule decides, it decides which kernels have started by then, on all devices.
  void look(NcclGpu& gpu, const CallSite& call_site);

  NcclId next_id() noexcept;

  // The assembly called `name`, created by the first caller.
  std::shared_ptr<NcclAssembly> assembly(const std::string& name, std::vector<int> expected);

  // Records that a rank has joined `clique`.
  void note_member(const std::shared_ptr<NcclClique>& clique);

  // Records that a member of `clique` is gone. Notifies the others if the links report it.
  void lose_member(NcclClique& clique);

  // Lets devices start what is ready; whether any did.
  bool go_on();

  // -- Under faults -------------------------------------------------------------------------------

  Strikes& strikes() noexcept { return strikes_; }

  // Called when the network notices that the process of a rank is gone.
  void tell_of_lost(int rank);

  // Delivers what link faults have held until now.
  void release_held();

 private:
  struct Meeting {
    std::vector<std::optional<std::string>> said;
    std::size_t come = 0;
    bool is_complete = false;
    bool does_without_some = false;  // a participant does not wait for all
    std::vector<Task*> waiters;
  };

  void await(Meeting& meeting, const NcclAppointment& appointment);
  void wake(Meeting& meeting);

  std::vector<std::shared_ptr<NcclClique>> cliques();

  World& world_;
  std::deque<NcclGpu> gpus_;
  std::map<std::string, Meeting> meetings_;
  std::map<std::string, std::string> notes_;
  std::map<std::string, std::string> decisions_;
  std::map<std::string, std::weak_ptr<NcclAssembly>> assemblies_;
  std::vector<std::weak_ptr<NcclClique>> cliques_;
  std::uint64_t ids_ = 0;
  Strikes strikes_;
};

}  // namespace gang::sim
