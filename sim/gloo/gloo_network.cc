#include "sim/gloo/gloo_network.h"

#include <utility>

#include "sim/engine.h"
#include "sim/gloo/gloo_endpoint.h"

namespace gang::sim {

std::shared_ptr<gloo::transport::Context> GlooNetwork::connect(const GlooMembership& membership,
                                                               Duration) {
  const Engine::Guard guard(engine_);
  std::shared_ptr<GlooMeeting>& meeting = meetings_[membership.prefix];
  if (meeting == nullptr) meeting = std::make_shared<GlooMeeting>(membership.root_ranks);
  return std::make_shared<GlooEndpoint>(engine_, meeting, membership.rank);
}

void GlooNetwork::close(gloo::transport::Context& transport) noexcept {
  const Engine::Guard guard(engine_);
  static_cast<GlooEndpoint&>(transport).close_all("Connection closed by this rank");
}

void GlooNetwork::leave_note(const std::string& prefix, std::string_view text) noexcept {
  const Engine::Guard guard(engine_);
  const auto meeting = meetings_.find(prefix);
  if (meeting != meetings_.end() && meeting->second->note.empty()) meeting->second->note = text;
}

std::optional<std::string> GlooNetwork::find_note(const std::string& prefix) noexcept {
  const Engine::Guard guard(engine_);
  const auto meeting = meetings_.find(prefix);
  if (meeting == meetings_.end() || meeting->second->note.empty()) return std::nullopt;
  return meeting->second->note;
}

void GlooNetwork::note_activity(const GlooActivity* activity) noexcept {
  engine_.current().activity = activity;
}

}  // namespace gang::sim
