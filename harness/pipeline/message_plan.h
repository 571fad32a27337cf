// The messages that a pipeline schedule needs, and where between passes they are sent and received.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gang/operation_kind.h"
#include "harness/pipeline/schedule.h"

namespace gang::harness {

enum class Payload : std::uint8_t { activation, gradient };

// What a stage needs from a neighbour: an activation from the stage before, or a gradient from the
// stage after.
struct PipelineMessage {
  Payload payload = Payload::activation;
  int to_stage = 0;
  int microbatch = 0;

  friend bool operator==(const PipelineMessage&, const PipelineMessage&) = default;
};

// "activation for 1F3", "gradient for 0B3".
std::string to_string(const PipelineMessage& message);

struct PipelineTransfer {
  OperationKind kind = OperationKind::send;  // send or recv
  int peer = 0;                              // rank of the pipeline
  int tag = 0;
  PipelineMessage message;

  friend bool operator==(const PipelineTransfer&, const PipelineTransfer&) = default;
};

// "sends activation for 1F3 to rank 1", "receives gradient for 0B3 from rank 1".
std::string to_string(const PipelineTransfer& transfer);

// A pass, or transfers that make progress together.
using PipelineAction = std::variant<StagePass, std::vector<PipelineTransfer>>;

// Where a rank communicates.
enum class SendForm : std::uint8_t {
  // Receives right before the pass that needs the message and sends right after the pass that made
  // it, each in its own blocking call: the obvious way. Hangs when two neighbours send at once,
  // unless sends are buffered.
  one_by_one,
  // One batch between two passes: what the last pass made, and what other ranks have made by the
  // time
  // the next pass starts in the timeline.
  batched,
};

std::string_view to_string(SendForm form) noexcept;  // "one_by_one", "batched"

// What each rank does, in order.
//
// A batched plan never hangs, for any schedule and without buffered sends: through messages, a pass
// waits only for passes that start before it in the timeline. Messages between two ranks arrive in
// the order in which they were sent, so all tags are 0.
struct MessagePlan {
  PipelineSizes sizes;
  SendForm form = SendForm::batched;
  std::vector<std::vector<PipelineAction>> by_rank;
};

// `schedule` must be valid (check_schedule). O(passes), not counting sorting.
MessagePlan plan_messages(const PipelineSchedule& schedule, SendForm form);

// Whether `pass` needs a message from another stage; whether it makes one for another stage.
bool needs_message(const StagePass& pass, const PipelineSizes& sizes) noexcept;
bool makes_message(const StagePass& pass, const PipelineSizes& sizes) noexcept;

// That message.
PipelineMessage needed_by(const StagePass& pass) noexcept;
PipelineMessage made_by(const StagePass& pass) noexcept;

}  // namespace gang::harness
