// A gang whose operations are counted.
#pragma once

#include <memory>

#include "gang/forwarding_gang.h"

namespace gang::sim {

class Engine;

// Counts the calls and children of gangs that are not the simulator's own, as those do.
class CountingGang final : public ForwardingGang {
 public:
  CountingGang(Engine& engine, std::shared_ptr<Gang> inner);

 protected:
  void before(const Operation& operation) override;
  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override;

 private:
  Engine& engine_;
};

}  // namespace gang::sim
