// Gangs over Gloo, where it is built.
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

// The gang of all processes of the job, on cpu. Blocks until all have come. Errors as
// setup_root_gang.
std::shared_ptr<Gang> make_gloo_root_gang(const Environment& environment,
                                          const RootGangOptions& options);

// A Gloo gang that comes from no other.
struct GlooGangOptions {
  std::shared_ptr<GlooConnector> connector;  // how members are connected; shared by its children
  std::shared_ptr<Runtime> runtime;          // threads for started operations, and time
  int rank = 0;
  int size = 1;
  std::string name = "root";
  Duration timeout = default_timeout;
  std::string prefix = "root";  // the same on all members and no other gang's, ever
  Watchdog watchdog = Watchdog::off;
};

// Blocks until all members have come. Throws GangError timeout, connection or corrupt where they
// do not meet within `timeout`.
//
// Every operation of gang.h on every data type, but for receiving any tag (NotSupported). Sums and
// products of floating-point numbers are in the order of Gloo's algorithms (a ring), the same bits
// on every rank. Blocking operations run on the calling thread, started ones on a thread of the
// gang's in the order of the calls; messages progress by themselves. Calls that do not match wait
// until their timeout; ValidatingGang finds them at once. Who waits learns of a lost peer or a
// broken gang at once; where Gloo does not tell it (a receive from any rank, a send that is being
// written), within some 75 ms, or a quarter of the time that it has waited; of a peer that dies
// while a gang is being connected, at the timeout at the latest. To shrink, nobody is known to be
// gone: a member that does not come costs the grace. NotSupported where gloo is not built.
std::shared_ptr<Gang> make_gloo_gang(const GlooGangOptions& options);

// For members that are all on this machine, in one process or in several: TCP on the loopback
// device, meeting in `store`. Processes that fork make their own.
std::shared_ptr<GlooConnector> make_loopback_connector(std::shared_ptr<Store> store,
                                                       std::shared_ptr<Runtime> runtime);

// For the processes of a job: TCP on the address from which this host reaches the one they meet
// at, meeting in `store`. InvalidArgument where it does not reach it.
std::shared_ptr<GlooConnector> make_job_connector(const Environment& environment,
                                                  std::shared_ptr<Store> store,
                                                  std::shared_ptr<Runtime> runtime);

}  // namespace gang
