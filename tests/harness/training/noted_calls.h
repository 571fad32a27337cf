// Notes what a layer, or anything else, calls on a gang.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gang/forwarding_gang.h"

namespace gang::harness::training {

struct NotedCall {
  std::string label;
  SourceLocation location;
};

class NotedCalls final : public ForwardingGang {
 public:
  explicit NotedCalls(std::shared_ptr<Gang> inner) : ForwardingGang(std::move(inner)) {}

  const std::vector<NotedCall>& calls() const noexcept { return calls_; }
  std::vector<std::string> labels() const {
    std::vector<std::string> labels;
    for (const NotedCall& call : calls_) labels.push_back(call.label);
    return labels;
  }

 protected:
  void before(const Operation& operation) override {
    const Collective& call = operation.collective;
    calls_.push_back({std::string(call.label), location_of(call.call_site)});
  }

 private:
  std::vector<NotedCall> calls_;
};

}  // namespace gang::harness::training
