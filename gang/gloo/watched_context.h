// A Gloo transport whose waits end when nobody is left to end them.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include <gloo/transport/context.h>

#include "gang/gloo/wait_watch.h"

namespace gang {

// Stands before `inner`, which is connected over TCP. Gloo forgets some waits when connections
// break: of a receive from any rank, and of a send that is being written at that moment. Here a
// wait that takes long is looked at by `watch`: it throws gloo::IoException where all it deals with
// are gone, or `has_note` says that somebody has broken the gang. (`has_note` is asked on the
// thread of the watch.) Throws what Gloo throws where a connection is lost already. Source: what it
// corrects is in Gloo 5b14351, transport/tcp/pair.cc (signalException) and context.cc
// (recvFromAny).
//
// Threads: as Gloo's transports.
std::shared_ptr<gloo::transport::Context> make_watched_context(
    std::shared_ptr<gloo::transport::Context> inner, std::shared_ptr<WaitWatch> watch,
    std::function<bool()> has_note);

// While this lives, members of a gang wait for each other to come: `ranks` of `parent`, a watched
// context. Calls `give_up`, on the thread of the watch and perhaps again and again, once one of
// them is lost (with its rank) or somebody has broken the parent (with no_rank).
class WatchedMeeting;
std::shared_ptr<WatchedMeeting> watch_meeting(const gloo::transport::Context& parent,
                                              std::span<const int> ranks,
                                              std::function<void(int)> give_up);

}  // namespace gang
