// A gang that records what its rank calls.
#pragma once

#include <memory>

#include "gang/forwarding_gang.h"
#include "gang/recording/call_ring.h"

namespace gang {

// Passes every call on, and keeps it in the ring that the gangs of its rank share. A started call
// counts as complete once the program has seen that it is. Works on every backend.
class RecordingGang final : public ForwardingGang {
 public:
  RecordingGang(std::shared_ptr<Gang> inner, std::shared_ptr<CallRing> ring);

 protected:
  Work do_start(Operation& operation) override;
  Received do_run(Operation& operation) override;
  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override;

 private:
  std::shared_ptr<CallRing> ring_;
  std::uint32_t index_;
};

}  // namespace gang
