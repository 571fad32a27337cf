// Whether receives from any source had a choice.
#pragma once

#include "sim/state/gang_state.h"

namespace gang::sim {

// A receive from any source has no choice if no message of another sender can come before the one
// that it takes: in every schedule the ranks post what they post in this run, as long as no choice
// differs. Another sender's message comes later for sure if it is posted at a later virtual time,
// or after a collective of the gang that the receiver called after its receive had ended.
//
// Both return whether there is a choice; a message that other receives would take first counts as
// one. After the first choice they need not be asked any more.

// `receive` takes a message of `source`, which is no longer in `mailbox`. O(messages there, at most
// 64).
bool could_take_another(const GangState& gang, Mailbox& mailbox, const PendingOperation& receive,
                        int source);

// `send` has been posted to a member that has taken messages from any source before.
bool could_have_come_first(const GangState& gang, const Mailbox& mailbox,
                           const PendingOperation& send);

}  // namespace gang::sim
