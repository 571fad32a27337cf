// What a gang over NCCL costs compared with the calls of NCCL and CUDA that it makes: all_reduce on
// the device, waiting for each call, in pairs that take turns. Prints JSON: for each size of
// tensor, the median time of each and the median ratio of the pairs.
//
//   nccl_all_reduce RANKS [PAIRS]
//
// With fewer GPUs than ranks it says so and ends with status 3.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "gang/nccl/gpu_machine.h"
#include "gang/nccl/nccl_gang.h"
#include "gang/nccl/real_nccl_api.h"
#include "gang/nccl/store_meeting.h"
#include "gang/store/file_store.h"
#include "harness/backends/launcher.h"
#include "harness/backends/meeting_place.h"
#include "tools/benchmarks/paired_times.h"

namespace gang::benchmarks {
namespace {

// What a program that uses NCCL directly would write: launch, record an event, wait for it.
class RawNccl {
 public:
  RawNccl(std::shared_ptr<NcclApi> api, const NcclMembership& membership)
      : api_(std::move(api)), info_(std::make_shared<GangInfo>()) {
    info_->name = "raw";
    info_->size = membership.size;
    for (int rank = 0; rank < membership.size; ++rank) info_->root_ranks.push_back(rank);
    communicator_ = api_->init(membership, {info_, {}});
    if (api_->await_ready(*communicator_, TimePoint::max()) != NcclStatus::success)
      throw NcclError(NcclStatus::internal_error, "NCCL did not create a communicator");
    stream_ = api_->make_stream(StreamPriority::normal);
    event_ = api_->make_event();
  }
  ~RawNccl() { api_->destroy(std::move(communicator_)); }
  RawNccl(const RawNccl&) = delete;
  RawNccl& operator=(const RawNccl&) = delete;

  void all_reduce(std::byte* output, const std::byte* input, std::int64_t count) {
    api_->launch(*communicator_, *stream_, {.input = input, .output = output, .count = count},
                 {info_, {}});
    if (api_->await_ready(*communicator_, TimePoint::max()) != NcclStatus::success)
      throw NcclError(NcclStatus::internal_error, "NCCL did not launch");
    api_->record(*event_, *stream_);
    NcclEvent* const events[] = {event_.get()};
    while (api_->wait_any(events, TimePoint::max(), api_->changes()).reason !=
           NcclWake::Reason::done) {
    }
  }

 private:
  std::shared_ptr<NcclApi> api_;
  std::shared_ptr<GangInfo> info_;
  std::unique_ptr<NcclCommunicator> communicator_;
  std::unique_ptr<NcclStream> stream_;
  std::unique_ptr<NcclEvent> event_;
};

// The id that rank 0 makes.
NcclId exchange_id(Store& store, NcclApi& api, int rank) {
  NcclId id{};
  if (rank == 0) {
    id = api.make_id();
    store.set_text("raw", {reinterpret_cast<const char*>(id.data()), id.size()});
  }
  const std::string bytes = store.get_text("raw", default_timeout);
  std::memcpy(id.data(), bytes.data(), std::min(bytes.size(), id.size()));
  return id;
}

nlohmann::json measure(Gang& gang, RawNccl& raw, NcclApi& api, std::size_t bytes, int pairs) {
  const auto from = api.allocate(NcclMemory::device, bytes);
  const auto to = api.allocate(NcclMemory::device, bytes);
  const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
  const auto tensor = [&](const NcclBuffer& buffer) {
    return TensorView(buffer.data(), DataType::f32, Shape::vector(count), api.device());
  };
  const int calls = static_cast<int>(std::clamp<std::size_t>((1U << 26U) / bytes, 2, 200));
  const auto by_gang = [&] { gang.all_reduce(tensor(*to), tensor(*from), ReduceOperation::sum); };
  const auto by_hand = [&] { raw.all_reduce(to->data(), from->data(), count); };
  nlohmann::json result = to_json(compare(calls, pairs, by_gang, by_hand));
  result["bytes"] = bytes;
  return result;
}

std::string run_rank(int rank, int size, int pairs, const std::filesystem::path& place) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const std::shared_ptr<Store> store = make_file_store(*runtime, {.path = place / "store"});
  const std::shared_ptr<NcclApi> api = make_real_nccl_api(rank, runtime);
  const auto gang = make_nccl_gang({.world = {.api = api,
                                              .meeting = make_store_meeting(store, runtime),
                                              .runtime = runtime,
                                              .watchdog = NcclWatchdog::always},
                                    .rank = rank,
                                    .size = size});
  RawNccl raw(api, {exchange_id(*store, *api, rank), rank, size});
  nlohmann::json results = nlohmann::json::array();
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{4096}, std::size_t{1} << 20U,
                                  std::size_t{1} << 26U, std::size_t{1} << 30U})
    results.push_back(measure(*gang, raw, *api, bytes, pairs));
  gang->barrier();
  return results.dump();
}

// Counted in another process, because CUDA, once used, does not survive a fork.
int count_gpus() {
  const auto ends = harness::run_processes(
      1, [](int) { return std::to_string(gpu_count()); }, std::chrono::minutes(1));
  return ends.front().has_returned() ? std::stoi(ends.front().result) : 0;
}

int fail(const std::string& why) {
  fmt::print(stderr, "nccl_all_reduce: {}\n", why);
  return 3;
}

int main(int argc, char** argv) {
  const int size = argc > 1 ? std::atoi(argv[1]) : 1;
  const int pairs = argc > 2 ? std::atoi(argv[2]) : 101;
  if (size < 1 || pairs < 1) {
    std::fputs("nccl_all_reduce: needs at least 1 rank and 1 pair\n", stderr);
    return 2;
  }
  if (const BackendAvailability nccl = nccl_availability(); !nccl.is_available)
    return fail(nccl.reason);
  if (const std::string problem = problem_of(GpuShare{size, count_gpus()}); !problem.empty())
    return fail(problem);
  const harness::MeetingPlace place;
  const auto ends = harness::run_processes(
      size, [&](int rank) { return run_rank(rank, size, pairs, place.path()); },
      std::chrono::minutes(1));
  if (!ends.front().has_returned()) return fail("rank 0 " + ends.front().death);
  fmt::print("{}\n", ends.front().result);
  return 0;
}

}  // namespace
}  // namespace gang::benchmarks

int main(int argc, char** argv) { return gang::benchmarks::main(argc, argv); }
