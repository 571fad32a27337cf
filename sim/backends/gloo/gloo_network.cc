#include "sim/backends/gloo/gloo_network.h"

#include "sim/backends/gloo/gloo_endpoint.h"
#include "sim/engine/engine.h"
#include "sim/state/world.h"

namespace gang::sim {

std::shared_ptr<gloo::transport::Context> GlooNetwork::connect(const GlooMembership& membership,
                                                               Duration) {
  const Engine::Guard guard(world_.engine);
  std::shared_ptr<GlooMeeting>& meeting = meetings_[membership.prefix];
  MessageFates* const fates = world_.interference != nullptr ? this : nullptr;
  if (meeting == nullptr)
    meeting = std::make_shared<GlooMeeting>(membership.prefix, membership.root_ranks, fates);
  return std::make_shared<GlooEndpoint>(world_, meeting, membership.rank, strikes_);
}

void GlooNetwork::rank_gone(int rank) {
  for (const auto& [prefix, meeting] : meetings_)
    for (int member = 0; member < meeting->size(); ++member)
      if (meeting->root_rank_of(member) == rank) meeting->member_gone(member);
}

void GlooNetwork::release_held() {
  for (const auto& [prefix, meeting] : meetings_) meeting->release(world_.engine.now());
}

LinkFate GlooNetwork::fate_of(const Crossing& crossing) {
  const GlooActivity* const activity = world_.engine.current().rare().activity;
  static const Collective unknown{.kind = OperationKind::send};
  return world_.interference->links().fate_of(crossing,
                                              activity != nullptr ? activity->call : unknown);
}

void GlooNetwork::corrupt(std::span<std::byte> payload, const ArmedFault& fault) {
  world_.interference->links().corrupt_message(
      Elements(payload.data(), DataType::u8, static_cast<std::int64_t>(payload.size())), fault);
}

bool GlooNetwork::is_silent(int rank) const { return !world_.rank(rank).rare().frozen_as.empty(); }

void GlooNetwork::note_choice_point() noexcept {
  if (!world_.engine.is_over()) world_.engine.choices().note_choice_point(Unguided::backend);
}

void GlooNetwork::close(gloo::transport::Context& transport) noexcept {
  const Engine::Guard guard(world_.engine);
  note_choice_point();  // what is under way may differ
  static_cast<GlooEndpoint&>(transport).close_all("Connection closed by this rank");
}

void GlooNetwork::leave_note(const std::string& prefix, std::string_view text) noexcept {
  const Engine::Guard guard(world_.engine);
  note_choice_point();  // others may find it or not
  notes_.try_emplace(prefix, text);
}

std::optional<std::string> GlooNetwork::find_note(const std::string& prefix) noexcept {
  const Engine::Guard guard(world_.engine);
  const auto note = notes_.find(prefix);
  if (note == notes_.end()) return std::nullopt;
  return note->second;
}

void GlooNetwork::note_activity(const GlooActivity* activity) noexcept {
  world_.engine.current().make_rare().activity = activity;
}

}  // namespace gang::sim
