// A WorkState that completes when a test says so.
#pragma once

#include <functional>
#include <memory>

#include "gang/error.h"
#include "gang/work.h"

namespace gang::test {

class ScriptedWork : public WorkState {
 public:
  bool complete = false;
  std::shared_ptr<const Error> error;  // thrown once complete
  Received got;
  int waits = 0;
  int drops = 0;
  Duration last_timeout{0};

  // A wait without a timeout completes the operation; one with a timeout passes.
  bool wait(Duration timeout) override {
    ++waits;
    last_timeout = timeout;
    if (timeout == no_timeout) complete = true;
    return test();
  }

  bool test() override {
    if (complete && error != nullptr) throw GangError(*dynamic_cast<const GangError*>(error.get()));
    return complete;
  }

  Received received() const override { return got; }

  std::size_t wait_any(std::span<WorkState* const> works) override {
    for (std::size_t i = 0; i < works.size(); ++i)
      if (static_cast<ScriptedWork*>(works[i])->complete) return i;
    static_cast<ScriptedWork*>(works.back())->complete = true;
    return works.size() - 1;
  }

  void dropped() noexcept override { ++drops; }
};

inline std::shared_ptr<ScriptedWork> pending_work() { return std::make_shared<ScriptedWork>(); }

inline std::shared_ptr<ScriptedWork> complete_work() {
  auto work = std::make_shared<ScriptedWork>();
  work->complete = true;
  return work;
}

inline std::shared_ptr<ScriptedWork> failing_work(std::string reason) {
  auto work = std::make_shared<ScriptedWork>();
  GangFailure failure;
  failure.reason = std::move(reason);
  work->error = std::make_shared<const GangError>(std::move(failure));
  return work;
}

}  // namespace gang::test
