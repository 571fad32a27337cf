// Carries out a message plan over a gang.
#pragma once

#include "gang/call_site.h"
#include "gang/gang.h"
#include "harness/pipeline/message_plan.h"

namespace gang::harness {

// What a pass gets and makes; without elements where there is nothing. A forward pass gets the
// activation of the stage before and makes that for the next stage; a backward or backward_input
// pass gets the gradient of its output and makes that of its input; a backward_weight pass has
// neither.
struct PassTensors {
  TensorView input;
  TensorView output;
};

// What the messages into a stage are: the activation that enters it has the same type and number of
// elements as the gradient that leaves it.
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

  // Computes one pass. Keeps what later passes of the same stage and microbatch need. The tensors
  // are valid during the call; `output` is to be written whole.
  virtual void compute(const StagePass& pass, const PassTensors& tensors) = 0;
};

// Computes this rank's passes of `plan` and exchanges their messages over `pp`, a rank of which is
// a rank of the plan (so pp.size() == plan.sizes.ranks, else InvalidArgument). Blocks until all of
// it is done. Batched plans call `batch`, others `send` and `recv`. Returns the most messages that
// this rank held at a time. Errors: those of the gang and of `work`.
std::size_t run_pipeline(Gang& pp, const MessagePlan& plan, StageWork& work,
                         CallSite call_site = CallSite::here());

}  // namespace gang::harness
