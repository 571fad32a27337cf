// A Gloo transport whose waits end even if no peer is left to end them.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include <gloo/transport/context.h>

#include "gang/gloo/wait_watch.h"

namespace gang {

// Wraps `inner`, which is connected over TCP. When connections break, Gloo forgets some waits: that
// of a receive from any rank, and that of a send that is being written at that moment. Here `watch`
// looks at a wait that takes long, which then throws gloo::IoException if all its peers are gone,
// or if `has_note`, which is called on the thread of the watch, says that a member has broken the
// gang. Throws what Gloo throws if a connection is already lost. Source: what is corrected here is
// in Gloo 5b14351, transport/tcp/pair.cc (signalException) and context.cc (recvFromAny).
//
// Threads: as Gloo's transports.
std::shared_ptr<gloo::transport::Context> make_watched_context(
    std::shared_ptr<gloo::transport::Context> inner, std::shared_ptr<WaitWatch> watch,
    std::function<bool()> has_note);

// While this exists, the members `ranks` of `parent`, a watched context, wait for each other to
// arrive. Calls `give_up`, on the thread of the watch and perhaps repeatedly, once one of them is
// lost (with its rank) or a member has broken the parent (with no_rank).
class WatchedMeeting;
std::shared_ptr<WatchedMeeting> watch_meeting(const gloo::transport::Context& parent,
                                              std::span<const int> ranks,
                                              std::function<void(int)> give_up);

}  // namespace gang
