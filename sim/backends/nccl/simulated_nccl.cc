#include "sim/backends/nccl/simulated_nccl.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/backends/nccl/nccl_host_wait.h"
#include "sim/backends/nccl/nccl_steps.h"
#include "sim/backends/nccl/simulated_nccl_api.h"
#include "sim/engine/engine.h"
#include "sim/schedule/guide.h"
#include "sim/state/world.h"

namespace gang::sim {

// Three steps: a rank launches an operation, begins to wait for it, and is woken.
SimulatedNccl::SimulatedNccl(World& world) : world_(world), strikes_(world, {.always = 3}) {
  for (int rank = 0; rank < world.options.world_size; ++rank)
    gpus_.emplace_back(world, world.options.nccl, rank);
}

std::shared_ptr<NcclApi> SimulatedNccl::api_of(int rank) {
  NcclGpu& gpu = gpu_of(rank);
  gpu.set_driver(world_.engine.current().rank->rank);
  return std::make_shared<SimulatedNcclApi>(*this, gpu);
}

std::vector<std::optional<std::string>> SimulatedNccl::meet(const NcclAppointment& appointment,
                                                            std::string_view own) {
  const Engine::Guard guard(world_.engine);
  world_.engine.scheduling_point();
  world_.engine.check_running();
  Meeting& meeting = meetings_[appointment.key];
  meeting.said.resize(static_cast<std::size_t>(appointment.size));
  meeting.said[static_cast<std::size_t>(appointment.rank)] = own;
  Guide* const guide = world_.engine.choices().guide();
  if (guide != nullptr) guide->publish(meeting_key(appointment.key));
  meeting.is_complete = ++meeting.come == meeting.said.size();
  if (meeting.is_complete || meeting.does_without_some) wake(meeting);
  if (!meeting.is_complete) await(meeting, appointment);
  if (guide != nullptr) guide->join(meeting_key(appointment.key));
  return meeting.said;
}

void SimulatedNccl::await(Meeting& meeting, const NcclAppointment& appointment) {
  const auto missing = [&meeting, &appointment] {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < meeting.said.size(); ++rank)
      if (!meeting.said[rank] &&
          std::ranges::find(appointment.gone, static_cast<int>(rank)) == appointment.gone.end())
        ranks.push_back(appointment.root_ranks[rank]);
    std::ranges::sort(ranks);
    return ranks;
  };
  NcclHostWait awaited;
  awaited.reason = NcclHostWait::Reason::meeting;
  awaited.nccl = this;
  awaited.purpose = appointment.purpose;
  awaited.missing = missing;
  const bool is_sure = appointment.end == NcclAppointment::End::is_sure;
  const bool does_without_some = !appointment.gone.empty();
  if (does_without_some) {
    meeting.does_without_some = true;
    note_choice_point();
  }
  const Wait wait{.reason = is_sure ? Wait::Reason::sleep : Wait::Reason::message,
                  .target = &awaited,
                  .deadline = is_sure ? TimePoint::max() : appointment.deadline};
  const auto has_passed = [&] {
    return is_sure ? world_.engine.now() >= appointment.deadline
                   : world_.engine.clock().has_passed(appointment.deadline);
  };
  while (!meeting.is_complete && !has_passed() && !notes_.contains(appointment.gang_key) &&
         !(does_without_some && missing().empty())) {
    Task& self = world_.engine.current();
    meeting.waiters.push_back(&self);
    if (is_sure) world_.engine.clock().wake_at(appointment.deadline, self);
    world_.engine.clock().note_deadline(wait.deadline);
    world_.engine.block(self, wait);
  }
  // A timer ends it, so in that instant it may end before others come or after.
  if (is_sure && has_passed()) note_choice_point();
}

void SimulatedNccl::wake(Meeting& meeting) {
  for (Task* task : std::exchange(meeting.waiters, {})) world_.engine.wake(*task);
}

std::string SimulatedNccl::decide(const std::string& key, std::string_view proposal) {
  const Engine::Guard guard(world_.engine);
  note_choice_point();
  return decisions_.emplace(key, proposal).first->second;
}

void SimulatedNccl::leave_note(const std::string& gang_key, std::string_view text) noexcept {
  const Engine::Guard guard(world_.engine);
  note_choice_point();
  if (!notes_.emplace(gang_key, text).second) return;
  for (NcclGpu& gpu : gpus_) gpu.note_change();
  for (auto& [key, meeting] : meetings_) wake(meeting);
}

std::optional<std::string> SimulatedNccl::find_note(const std::string& gang_key) noexcept {
  const Engine::Guard guard(world_.engine);
  const auto found = notes_.find(gang_key);
  return found != notes_.end() ? std::optional(found->second) : std::nullopt;
}

void SimulatedNccl::note_choice_point() noexcept {
  if (!world_.engine.is_over()) world_.engine.choices().note_choice_point(Unguided::backend);
}

NcclId SimulatedNccl::next_id() noexcept {
  NcclId id{};
  const std::uint64_t number = ++ids_;
  std::memcpy(id.data(), &number, sizeof(number));
  return id;
}

std::shared_ptr<NcclAssembly> SimulatedNccl::assembly(const std::string& name,
                                                      std::vector<int> expected) {
  std::weak_ptr<NcclAssembly>& known = assemblies_[name];
  std::shared_ptr<NcclAssembly> assembly = known.lock();
  if (assembly == nullptr) {
    assembly = std::make_shared<NcclAssembly>(world_, name, std::move(expected));
    known = assembly;
  }
  return assembly;
}

std::vector<std::shared_ptr<NcclClique>> SimulatedNccl::cliques() {
  std::erase_if(cliques_, [](const auto& clique) { return clique.expired(); });
  std::vector<std::shared_ptr<NcclClique>> alive;
  for (const auto& clique : cliques_) alive.push_back(clique.lock());
  return alive;
}

void SimulatedNccl::note_member(const std::shared_ptr<NcclClique>& clique) {
  if (world_.interference == nullptr) return;
  const auto known = cliques();
  if (std::ranges::find(known, clique) == known.end()) cliques_.push_back(clique);
}

void SimulatedNccl::tell_of_lost(int rank) {
  for (const auto& clique : cliques())
    if (std::ranges::find(clique->root_ranks(), rank) != clique->root_ranks().end())
      lose_member(*clique);
}

void SimulatedNccl::release_held() {
  for (const auto& clique : cliques()) NcclGpu::retire_all(clique->release());
}

bool SimulatedNccl::go_on() {
  if (world_.options.nccl.order == LaunchOrder::host) return false;
  const auto waiting =
      std::ranges::find_if(gpus_, [](const NcclGpu& gpu) { return !gpu.ready().empty(); });
  if (waiting == gpus_.end()) return false;
  waiting->settle();
  return true;
}

void SimulatedNccl::look(NcclGpu& gpu, const CallSite& call_site) {
  Engine& engine = world_.engine;
  const auto note = [&] {
    if (Guide* guide = engine.choices().guide())
      note_look_at_devices(*guide, engine.current(), call_site);
  };
  note();
  engine.choices().note_guided_choice();
  if (world_.options.nccl.order == LaunchOrder::host) {
    gpu.settle();
    return;
  }
  for (bool goes_on = true; goes_on && !engine.is_over(); note()) {
    std::vector<NcclKernel*> ready;
    for (const NcclGpu& one : gpus_)
      for (NcclKernel* kernel : one.ready()) ready.push_back(kernel);
    if (ready.empty()) return;
    const std::uint64_t number = gpu.next_pick();
    std::vector<Access> ways;
    for (const NcclKernel* kernel : ready)
      ways.push_back(way_to_start_before_look(*kernel, gpu.rank(), number, ways.size()));
    ways.push_back(way_to_look(gpu.rank(), call_site, number, ways.size()));
    const std::size_t picked = engine.choices().pick(ways);
    goes_on = picked < ready.size();
    if (goes_on) {
      NcclKernel& started = *ready[picked];
      if (Guide* guide = engine.choices().guide())
        note_start_before_look(*guide, engine.current(), started);
      started.gpu->start(started);
    }
    engine.scheduling_point();
  }
}

void SimulatedNccl::lose_member(NcclClique& clique) {
  clique.lose_member();
  if (world_.options.nccl.links == PeerLinks::device) return;
  note_choice_point();  // in another schedule, the others may be further or less far
  for (const int rank : clique.root_ranks()) gpu_of(rank).note_change();
}

}  // namespace gang::sim
