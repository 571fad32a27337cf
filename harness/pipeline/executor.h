// Executes a message plan over a gang.
#pragma once

#include "gang/call_site.h"
#include "gang/gang.h"
#include "harness/pipeline/message_plan.h"

namespace gang::harness {

// The input and output of a pass; without elements if there is none. A forward pass takes the
// activation of the stage before and computes that for the next stage; a backward or backward_input
// pass takes the gradient of its output and computes that of its input; a backward_weight pass has
// neither.
struct PassTensors {
  TensorView input;
  TensorView output;
};

// The type and size of the messages between two stages: the activation that enters the later stage
// and the gradient that leaves it.
struct StageBoundary {
  DataType type = DataType::f32;
  std::int64_t count = 0;
};

// What a rank computes in a pipeline.
class StageWork {
 public:
  virtual ~StageWork() = default;

  // Between stages `stage` - 1 and `stage`; the same on the ranks of both. `stage` >= 1.
  virtual StageBoundary boundary_before(int stage) const = 0;

  // Computes one pass and keeps what later passes of the same stage and microbatch need. The
  // tensors are valid during the call; all of `output` must be written.
  virtual void compute(const StagePass& pass, const PassTensors& tensors) = 0;
};

// Computes this rank's passes of `plan` and exchanges their messages over `pp`, whose ranks are the
// plan's ranks (throws InvalidArgument unless pp.size() == plan.sizes.ranks). Blocks until all is
// done. Batched plans call `batch`, others `send` and `recv`. Returns the most messages that this
// rank held at once. Errors: those of the gang and of `work`.
std::size_t run_pipeline(Gang& pp, const MessagePlan& plan, StageWork& work,
                         CallSite call_site = CallSite::here());

}  // namespace gang::harness
