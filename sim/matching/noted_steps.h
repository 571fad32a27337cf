// Tells a Guide what the current context does to gangs and operations. Called only where there is
// one, under the engine's Guard.
#pragma once

#include <vector>

#include "sim/schedule/step_log.h"
#include "sim/state/gang_state.h"

namespace gang::sim {

class Guide;

// A call on a gang; then the entries of a batch, each.
void note_post(Guide& guide, PendingOperation& pending);
void note_post_of_entry(Guide& guide, PendingOperation& entry);

// A call of the member, by `task`, on a gang of a foreign backend.
void note_foreign_call(Guide& guide, const GangState& gang, int member, const Task& task,
                       const Collective& call);

void note_ended(Guide& guide, const PendingOperation& pending);

// The context sees whether the operation has ended.
void note_look(Guide& guide, const PendingOperation& pending);

// The context goes on after the end of the operation; or one that it has ended itself when it
// posted it.
void note_taken(Guide& guide, const PendingOperation& pending);
void note_taken_at_once(Guide& guide, const PendingOperation& pending);

// The call of the operation, which has waited, returns: another context of its rank that calls on
// the gang is no longer there at once with it.
void note_return(Guide& guide, const PendingOperation& pending);

// The context breaks the gang, or would if that were not so already.
void note_broken(Guide& guide, const World& world, const GangState& gang);

void note_sent(Guide& guide, const PendingOperation& send);
// A send or receive is left for others to meet: what they then do comes after this.
void note_left(Guide& guide, const PendingOperation& pending);
void note_receive(Guide& guide, const PendingOperation& receive);
// A send and a receive: the one that has just been posted ends both, or takes what the other one
// has left in a buffer.
void note_meeting(Guide& guide, StepKey waiting, const PendingOperation& posted);
// `receive`, from any source, has taken the message that the operation `message` sent.
void note_taken_by_any(Guide& guide, const PendingOperation& receive, StepKey message);

// Of a meeting to shrink the gang: a member has come; all have, but for the programs of `absent`
// ranks, which have ended; a member goes on after that. The order in which two members come matters
// where they have different options.
void note_coming(Guide& guide, const GangState& gang, const Task& task,
                 const ShrinkOptions& options, const CallSite& call_site);
void note_agreement(Guide& guide, const GangState& gang, const std::vector<int>& absent);
void note_agreed(Guide& guide, const GangState& gang);

}  // namespace gang::sim
