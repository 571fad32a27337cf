// A recording as what each rank does, step by step.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/recording/open_calls.h"
#include "harness/recording/recording.h"

namespace gang::harness {

// What a rank does next. Indexes are those of the recording.
struct RecordedStep {
  enum class Action : std::uint8_t {
    call,   // blocks
    start,  // its work is `work`
    wait,   // for `work`
  };

  Action action = Action::call;
  std::uint32_t group = 0;
  std::uint32_t call = 0;
  std::vector<std::uint32_t> batch;  // sends and receives made as one; else empty
  std::uint32_t work = 0;            // from 1; 0: nobody waits for it. Free again after its wait
};

// The steps of each rank, from where all dumps of a group tell what its members called.
//
// What has ended and is not in the dumps of all members is made by those, too, or by nobody
// (OpenCalls). A rank waits where its dump says so. PyTorch's do not say: a collective that has
// ended is a call that blocks; sends and receives that follow each other are waited for after the
// last of them; and from its first open call on, a rank starts everything and waits at the end.
// Calls that have made a gang are left out.
std::vector<std::vector<RecordedStep>> steps_of(const Recording& recording, const OpenCalls& open);

// Whether calls wait for what their rank launched before: all are NCCL's, and none has ended behind
// one that is open.
bool is_stream_ordered(const Recording& recording, const OpenCalls& open);

}  // namespace gang::harness
