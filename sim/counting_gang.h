// A gang whose operations are counted.
#pragma once

#include <memory>

#include "gang/forwarding_gang.h"
#include "gang/runtime.h"

namespace gang::sim {

class Engine;

// Counts the calls and children of gangs that are not the simulator's own, as those do.
class CountingGang final : public ForwardingGang {
 public:
  // `runtime` keeps the engine after the run; every call is an InvalidOperation then.
  CountingGang(Engine& engine, std::shared_ptr<Runtime> runtime, std::shared_ptr<Gang> inner);

 protected:
  std::shared_ptr<Gang> do_shrink(const ShrinkOptions& options, const CallSite& call_site) override;
  void do_abort() override;
  void before(const Operation& operation) override;
  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override;

 private:
  Engine& engine_;
  std::shared_ptr<Runtime> runtime_;
};

}  // namespace gang::sim
