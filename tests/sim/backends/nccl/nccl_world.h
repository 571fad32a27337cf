// The devices of a small simulated world, used without gangs.
#pragma once

#include <functional>
#include <memory>

#include "sim/backends/nccl/nccl_roots.h"
#include "sim/backends/nccl/simulated_nccl.h"
#include "tests/sim/worlds.h"

namespace gang::sim::test {

// NCCL as one rank sees it, with a communicator of all ranks and a stream.
struct NcclRank {
  NcclRank(SimulatedRank& simulated, SimulatedNccl& world)
      : rank(simulated.rank()),
        size(simulated.world_size()),
        runtime(simulated.runtime()),
        nccl(world),
        api(world.api_of(rank)),
        info(std::make_shared<GangInfo>()) {
    info->name = "all";
    info->size = size;
    for (int i = 0; i < size; ++i) info->root_ranks.push_back(i);
    purpose = {info, {}};
    communicator = make_communicator(0);
    stream = api->make_stream(StreamPriority::normal);
  }

  // The k-th communicator, created by all ranks.
  std::unique_ptr<NcclCommunicator> make_communicator(int k) {
    NcclId id{};
    id[0] = static_cast<std::byte>(100 + k);
    auto made = api->init({id, rank, size}, purpose);
    EXPECT_EQ(api->await_ready(*made, TimePoint::max()), NcclStatus::success);
    return made;
  }

  void all_reduce(NcclCommunicator& on, NcclStream& in, std::int32_t& value) {
    auto* const bytes = reinterpret_cast<std::byte*>(&value);
    api->launch(on, in,
                {.kind = OperationKind::all_reduce,
                 .input = bytes,
                 .output = bytes,
                 .count = 1,
                 .data_type = DataType::i32},
                purpose);
  }

  // The outcome of a wait for everything on the stream.
  NcclWake::Reason wait(NcclStream& on, TimePoint deadline = TimePoint::max()) {
    recorded.push_back(api->make_event());  // a stream may reach it later
    api->record(*recorded.back(), on);
    NcclEvent* const events[] = {recorded.back().get()};
    return api->wait_any(events, deadline, api->changes()).reason;
  }

  int rank;
  int size;
  Runtime& runtime;
  SimulatedNccl& nccl;
  std::shared_ptr<NcclApi> api;
  std::shared_ptr<GangInfo> info;
  NcclPurpose purpose;
  std::unique_ptr<NcclCommunicator> communicator;
  std::vector<std::unique_ptr<NcclEvent>> recorded;
  std::unique_ptr<NcclStream> stream;
};

inline Report run_nccl(const SimulationOptions& options,
                       const std::function<void(NcclRank&)>& body) {
  SimulationOptions with_nccl = options;
  with_nccl.backend = SimulatedBackend::nccl;
  return run(with_nccl, [&body](SimulatedRank& simulated) {
    NcclRank rank(simulated, simulated_nccl_of(simulated.world()));
    body(rank);
  });
}

}  // namespace gang::sim::test
