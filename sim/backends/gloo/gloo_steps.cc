#include "sim/backends/gloo/gloo_steps.h"

#include "gang/hash.h"
#include "sim/schedule/guide.h"

namespace gang::sim {
namespace {

constexpr std::int32_t no_tag = 0;  // the slot says it all

StepKey mailbox_of(const GlooStep& step, int destination) {
  return splitmix64(splitmix64(step.meeting, static_cast<std::uint64_t>(destination)), step.slot);
}

}  // namespace

void note_send(Guide& guide, const GlooStep& step, int destination) {
  guide.access({.kind = AccessKind::message,
                .mode = AccessMode::write,
                .tag = no_tag,
                .rank = step.rank,
                .object = mailbox_of(step, destination),
                .operation = step.buffer,
                .site = step.call_site});
  guide.publish(step.buffer);
}

void note_receive(Guide& guide, const GlooStep& step, AnySource from) {
  guide.publish(step.buffer);
  if (StepLog* notes = guide.notes(); notes != nullptr && from == AnySource::yes)
    notes->knowledge.any_receives.insert({mailbox_of(step, step.member), no_tag});
}

void note_taken_by_any(Guide& guide, int rank, const CallSite& call_site, StepKey message) {
  if (StepLog* notes = guide.notes()) notes->taken.push_back({message, rank, call_site});
}

}  // namespace gang::sim
