// Gangs over NCCL: the real library, if it is built in, or a simulated one.
#pragma once

#include <memory>
#include <string>

#include "gang/environment.h"
#include "gang/gang.h"
#include "gang/nccl/nccl_device.h"
#include "gang/nccl/nccl_member.h"
#include "gang/root_gang.h"

namespace gang {

// The gang of all processes of the job, on cuda. Blocks until all have arrived. Errors as
// setup_root_gang, and NotSupported without a driver, without a GPU, or if a process has no GPU of
// its own.
std::shared_ptr<Gang> make_nccl_root_gang(const Environment& environment,
                                          const RootGangOptions& options);

// An NCCL gang that has no parent.
struct NcclGangOptions {
  NcclWorld world;
  int rank = 0;
  int size = 1;
  std::string name = "root";
  Duration timeout = default_timeout;
  std::string key = "root";  // the same on all members; never that of another gang
  NcclTensors tensors = NcclTensors::on_device;
  StreamPriority priority = StreamPriority::normal;  // of this gang's and its children's streams
};

// Blocks until all members have arrived. Throws GangError timeout, connection or peer_failed if
// they do not meet within `timeout`.
//
// Supports every operation of gang.h on every data type, except tags, receives from any source, and
// messages of a rank to itself outside a batch (NotSupported, nothing launched). Tensors are on the
// device (on the cpu with NcclTensors::on_host). All operations of a gang, including messages, run
// on one stream in the order of the calls; a started one returns once it is launched. Operations of
// different gangs run in the order of their launches: all ranks must launch in the same order, or
// they may wait for each other forever. A timeout ends every gang of the rank's device.
std::shared_ptr<Gang> make_nccl_gang(const NcclGangOptions& options);

}  // namespace gang
