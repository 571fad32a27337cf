// A backend that only records its calls, for tests of what comes before a backend.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gang/parent_gang.h"

namespace gang::test {

// What reached the backend, with the borrowed lists copied.
struct Sent {
  explicit Sent(const Operation& call)
      : operation(call),
        extras(*call.extras),
        inputs(extras.inputs.begin(), extras.inputs.end()),
        outputs(extras.outputs.begin(), extras.outputs.end()),
        ranks(extras.ranks.begin(), extras.ranks.end()),
        label(call.collective.label) {}

  const Collective& collective() const { return operation.collective; }

  Operation operation;     // what it refers to may be gone
  OperationExtras extras;  // the same
  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;
  std::vector<int> ranks;
  std::string label;
};

inline std::shared_ptr<const GangInfo> make_info(int size, std::string name = "root") {
  auto info = std::make_shared<GangInfo>();
  info->name = std::move(name);
  info->size = size;
  info->backend = "recording";
  for (int rank = 0; rank < size; ++rank) info->root_ranks.push_back(rank);
  return info;
}

class CapturingGang final : public ParentGang {
 public:
  explicit CapturingGang(int size = 4, int rank = 0) : CapturingGang(make_info(size), rank) {}
  CapturingGang(std::shared_ptr<const GangInfo> info, int rank)
      : ParentGang(std::move(info), rank) {}

  std::vector<Sent> sent;
  std::function<void(Operation&)> reaction;  // called with each operation; may throw
  std::shared_ptr<WorkState> work;           // what do_start returns; null: complete at once
  int aborts = 0;
  int closes = 0;

  // The one operation that has reached the backend.
  const Sent& only() const { return sent.at(sent.size() == 1 ? 0 : sent.size()); }

 protected:
  Work do_start(Operation& operation) override {
    sent.emplace_back(operation);
    if (reaction) reaction(operation);
    return work == nullptr ? Work() : Work(work);
  }
  void do_abort() override { ++aborts; }
  void do_close() noexcept override { ++closes; }
};

// The text of the Expected error that `act` throws; "" if it throws nothing.
template <typename Expected, typename Act>
std::string message_of(Act&& act) {
  try {
    act();
  } catch (const Expected& error) {
    return error.what();
  }
  return "";
}

}  // namespace gang::test
