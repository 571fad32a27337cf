// Connects the Gloo gangs of a simulated world.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gang/gloo/gloo_connector.h"
#include "sim/backends/gloo/gloo_meeting.h"
#include "sim/backends/strikes.h"

namespace gang::sim {

struct World;

// Stands in for TCP and a store; one instance serves all ranks of a run. Connecting never waits:
// members meet in their first message.
//
// Threads: the contexts of its run.
class GlooNetwork final : public GlooConnector, private MessageFates {
 public:
  explicit GlooNetwork(World& world) : world_(world), strikes_(world, {.by_member = 4}) {}

  Strikes& strikes() noexcept { return strikes_; }

  // Both require the engine's Guard. Tells the peers of a rank that its process is gone.
  void rank_gone(int rank);
  // Delivers the messages that faults have held until now.
  void release_held();

  std::shared_ptr<gloo::transport::Context> connect(const GlooMembership& membership,
                                                    Duration timeout) override;
  void close(gloo::transport::Context& transport) noexcept override;
  void leave_note(const std::string& prefix, std::string_view text) noexcept override;
  std::optional<std::string> find_note(const std::string& prefix) noexcept override;
  void note_activity(const GlooActivity* activity) noexcept override;

 private:
  void note_choice_point() noexcept;
  LinkFate fate_of(const Crossing& crossing) override;
  void corrupt(std::span<std::byte> payload, const ArmedFault& fault) override;
  bool is_silent(int rank) const override;

  World& world_;
  Strikes strikes_;
  std::map<std::string, std::shared_ptr<GlooMeeting>, std::less<>> meetings_;
  std::map<std::string, std::string, std::less<>> notes_;
};

}  // namespace gang::sim
