// Gangs over Gloo, if it is built in.
#pragma once

#include <memory>
#include <string>

#include "gang/environment.h"
#include "gang/gang.h"
#include "gang/root_gang.h"
#include "gang/runtime.h"

namespace gang {

class GlooConnector;
class Store;

// The gang of all processes of the job, on cpu. Blocks until all have arrived. Errors as
// setup_root_gang.
std::shared_ptr<Gang> make_gloo_root_gang(const Environment& environment,
                                          const RootGangOptions& options);

// A Gloo gang that has no parent.
struct GlooGangOptions {
  std::shared_ptr<GlooConnector> connector;  // connects the members; shared with its children
  std::shared_ptr<Runtime> runtime;          // threads for started operations, and time
  int rank = 0;
  int size = 1;
  std::string name = "root";
  Duration timeout = default_timeout;
  std::string prefix = "root";  // the same on all members; never that of another gang
  Watchdog watchdog = Watchdog::off;
};

// Blocks until all members have arrived. Throws GangError timeout, connection or corrupt if they do
// not meet within `timeout`.
//
// Supports every operation of gang.h on every data type, except receiving with any_tag
// (NotSupported). Sums and products of floating-point numbers are in the order of Gloo's algorithms
// (a ring), with the same bits on every rank. Blocking operations run on the calling thread,
// started ones on a thread of the gang in the order of the calls; messages progress by themselves.
// Mismatched calls wait until their timeout; ValidatingGang finds them at once. A waiting rank
// learns of a lost peer or a broken gang at once, or, where Gloo does not report it (a receive from
// any rank, a send that is being written), within about 75 ms or a quarter of the time it has
// waited; of a peer that dies while a gang is being connected, at the timeout at the latest. When a
// gang is shrunk, no member is known to be gone: one that does not come costs the grace.
// NotSupported if gloo is not built in.
std::shared_ptr<Gang> make_gloo_gang(const GlooGangOptions& options);

// For members that are all on this machine, in one or several processes: TCP on the loopback
// device, meeting in `store`. A process that forks makes a new one.
std::shared_ptr<GlooConnector> make_loopback_connector(std::shared_ptr<Store> store,
                                                       std::shared_ptr<Runtime> runtime);

// For the processes of a job: TCP on the address from which this host reaches the host where they
// meet, meeting in `store`. InvalidArgument if it cannot reach that host.
std::shared_ptr<GlooConnector> make_job_connector(const Environment& environment,
                                                  std::shared_ptr<Store> store,
                                                  std::shared_ptr<Runtime> runtime);

}  // namespace gang
