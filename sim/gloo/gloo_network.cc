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
  notes_.try_emplace(prefix, text);
}

std::optional<std::string> GlooNetwork::find_note(const std::string& prefix) noexcept {
  const Engine::Guard guard(engine_);
  const auto note = notes_.find(prefix);
  if (note == notes_.end()) return std::nullopt;
  return note->second;
}

void GlooNetwork::note_activity(const GlooActivity* activity) noexcept {
  engine_.current().activity = activity;
}

}  // namespace gang::sim
