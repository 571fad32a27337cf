// Gangs over NCCL: over the real library, where it is built, or a simulated one.
#pragma once

#include <memory>
#include <string>

#include "gang/environment.h"
#include "gang/gang.h"
#include "gang/nccl/nccl_device.h"
#include "gang/nccl/nccl_member.h"
#include "gang/root_gang.h"

namespace gang {

// The gang of all processes of the job, on cuda. Blocks until all have come. Errors as
// setup_root_gang, and NotSupported without a driver, without a GPU, or where a process has none.
std::shared_ptr<Gang> make_nccl_root_gang(const Environment& environment,
                                          const RootGangOptions& options);

// An NCCL gang that comes from no other.
struct NcclGangOptions {
  NcclWorld world;
  int rank = 0;
  int size = 1;
  std::string name = "root";
  Duration timeout = default_timeout;
  std::string key = "root";  // the same on all members and no other gang's, ever
  NcclTensors tensors = NcclTensors::on_device;
  StreamPriority priority = StreamPriority::normal;  // of this gang's and its children's streams
};

// Blocks until all members have come. Throws GangError timeout, connection or peer_failed where
// they do not meet within `timeout`.
//
// Every operation of gang.h on every data type, but for tags, receives from any source, and
// messages of a rank to itself outside of a batch (NotSupported, nothing launched). Tensors are on
// the device (its cpu where NcclTensors::on_host). All operations of a gang run on one stream, in
// the order of the calls, messages too; a started one returns once it is launched. Which gang's
// operation runs first, the order of launching decides: ranks launch in the same order, or may wait
// for each other for ever. A timeout ends every gang of the rank's device.
std::shared_ptr<Gang> make_nccl_gang(const NcclGangOptions& options);

}  // namespace gang
