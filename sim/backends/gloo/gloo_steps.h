// Tells a Guide what the members of a simulated Gloo gang do to each other. Called only where there
// is one, under the engine's Guard.
#pragma once

#include <cstdint>

#include "gang/call_site.h"
#include "sim/schedule/step_log.h"

namespace gang::sim {

class Guide;

// A transfer that the current context posts.
struct GlooStep {
  StepKey meeting = 0;
  int member = 0;  // who posts it
  std::uint64_t slot = 0;
  StepKey buffer = 0;  // of which it is
  int rank = 0;        // who that is, of the root gang
  CallSite call_site;
};

enum class AnySource : std::uint8_t { no, yes };

// Two messages to one member and slot commute unless a receive from any source could take either.
// (Contexts of one rank that use one gang are noted where they call it.)
void note_send(Guide& guide, const GlooStep& step, int destination);
void note_receive(Guide& guide, const GlooStep& step, AnySource from);

// A receive from any source of the root rank `rank` has taken the message of the buffer `message`.
void note_taken_by_any(Guide& guide, int rank, const CallSite& call_site, StepKey message);

}  // namespace gang::sim
