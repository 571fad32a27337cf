// A Gloo transport whose waits end when nobody is left to end them.
#pragma once

#include <functional>
#include <memory>

#include <gloo/transport/context.h>

namespace gang {

// Looks after the waits of a process, on a thread of its own. Shared by its transports.
class WaitWatch;
std::shared_ptr<WaitWatch> make_wait_watch();

// Stands before `inner`, which is connected over TCP. Gloo forgets some waits when connections
// break: of a receive from any rank, and of a send that is being written at that moment. Here a
// wait that has lasted for 25 ms, and then ever more rarely (after a quarter more of its time), is
// looked at: it throws gloo::IoException where all it deals with are gone, or `has_note` says that
// somebody has broken the gang. (`has_note` is asked on the thread of the watch.)
// Throws what Gloo throws where a connection is lost already.
// Source: what it corrects is in Gloo 5b14351, transport/tcp/pair.cc (signalException) and
// context.cc (recvFromAny).
//
// Threads: as Gloo's transports.
std::shared_ptr<gloo::transport::Context> make_watched_context(
    std::shared_ptr<gloo::transport::Context> inner, std::shared_ptr<WaitWatch> watch,
    std::function<bool()> has_note);

}  // namespace gang
