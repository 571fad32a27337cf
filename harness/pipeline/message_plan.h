// Which messages a schedule needs, and where between its passes they are sent and received.
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

// What a stage needs of its neighbour: an activation of the stage before, or a gradient of the
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

// A pass, or transfers that progress together.
using PipelineAction = std::variant<StagePass, std::vector<PipelineTransfer>>;

// Where a rank communicates.
enum class SendForm : std::uint8_t {
  // Receives right before the pass that needs it, sends right after the pass that made it, each a
  // blocking call of its own: what one writes first. Where two neighbours send at once, it hangs
  // unless sends are buffered.
  one_by_one,
  // One batch between two passes: what the last pass has made, and what other ranks have made by
  // the time the next pass starts in the schedule's timeline.
  batched,
};

std::string_view to_string(SendForm form) noexcept;  // "one_by_one", "batched"

// What each rank does, in order.
//
// Batched, it never hangs, whatever the schedule and though no send is buffered: a pass waits, over
// messages, only for passes that start before it in the timeline. Between two ranks messages arrive
// in the order in which they are sent, so all tags are 0.
struct MessagePlan {
  PipelineSizes sizes;
  SendForm form = SendForm::batched;
  std::vector<std::vector<PipelineAction>> by_rank;
};

// `schedule` is right (check_schedule). O(passes), but for sorting.
MessagePlan plan_messages(const PipelineSchedule& schedule, SendForm form);

// Whether `pass` needs a message of another stage, and makes one for another stage.
bool needs_message(const StagePass& pass, const PipelineSizes& sizes) noexcept;
bool makes_message(const StagePass& pass, const PipelineSizes& sizes) noexcept;

// That message.
PipelineMessage needed_by(const StagePass& pass) noexcept;
PipelineMessage made_by(const StagePass& pass) noexcept;

}  // namespace gang::harness
