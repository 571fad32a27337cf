// A recording as the values that reports are made from.
#pragma once

#include "gang/call_text.h"
#include "gang/gang_label.h"
#include "harness/recording/open_calls.h"
#include "harness/recording/recording.h"
#include "sim/report/call_history.h"
#include "sim/report/timeline.h"

namespace gang::harness {

GangLabel label_of(const RecordedGroup& group);

// The call as reports show it, with its number.
CallText text_of(const Recording& recording, const RankCall& call);

// What each rank called: its last calls, as many as of a simulated run; messages made as one are
// one call.
sim::CallHistories histories_of(const Recording& recording, const OpenCalls& open);

// The same, to be looked at. Times are those of the dumps, from the first call that is shown. A
// collective ends when its last member called it.
sim::Timeline timeline_of(const Recording& recording, const OpenCalls& open,
                          const sim::CallHistories& histories);

}  // namespace gang::harness
