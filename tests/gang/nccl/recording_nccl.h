// An NCCL of one process that records what is launched; a test decides when that is done.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gang/nccl/nccl_device.h"
#include "gang/nccl/nccl_flight.h"
#include "gang/nccl/nccl_gang.h"
#include "gang/nccl/nccl_groups.h"

namespace gang::test {

class RecordingNccl final : public NcclApi, public NcclMeeting {
 public:
  std::vector<std::string> log;
  bool holds_events = false;           // what is recorded completes only when a wait is over
  std::deque<NcclWake::Reason> wakes;  // what waits return; when there is none left: done
  NcclStatus status = NcclStatus::success;
  std::optional<NcclStatus> launch_error;
  std::vector<std::optional<std::string>> others;  // what other ranks say at meetings
  std::string note;
  std::uint64_t change_count = 0;
  std::vector<int> gone;  // whom the latest meeting does not wait for
  int events_made = 0;
  bool moves_bytes = false;          // launches move bytes; those of rank r are this rank's plus r
  std::vector<std::uint8_t> given;   // the bytes of sends and scatters
  std::vector<TimePoint> deadlines;  // of waits

  // NcclMeeting
  std::vector<std::optional<std::string>> meet(const NcclAppointment& appointment,
                                               std::string_view own) override {
    log.push_back("meet " + appointment.key);
    gone.assign(appointment.gone.begin(), appointment.gone.end());
    auto said = others;
    said.resize(static_cast<std::size_t>(appointment.size));
    said[static_cast<std::size_t>(appointment.rank)] = own;
    return said;
  }
  std::string decide(const std::string&, std::string_view proposal) override {
    return std::string(proposal);
  }
  void leave_note(const std::string& key, std::string_view text) noexcept override {
    log.push_back("note " + key);
    if (note.empty()) note = text;
  }
  std::optional<std::string> find_note(const std::string&) noexcept override {
    return note.empty() ? std::nullopt : std::optional(note);
  }

  // NcclApi
  Device device() const noexcept override { return {DeviceType::cuda, 0}; }
  NcclId make_id() override { return {}; }
  std::unique_ptr<NcclCommunicator> init(const NcclMembership& membership,
                                         const NcclPurpose&) override {
    log.push_back("init " + std::to_string(membership.rank) + "/" +
                  std::to_string(membership.size));
    return std::make_unique<NcclCommunicator>();
  }
  std::unique_ptr<NcclCommunicator> split(NcclCommunicator&, const NcclSplit& split,
                                          const NcclPurpose&) override {
    log.push_back("split " + std::to_string(split.color) + " " + std::to_string(split.key));
    return split.color == no_color ? nullptr : std::make_unique<NcclCommunicator>();
  }
  std::unique_ptr<NcclCommunicator> shrink(NcclCommunicator&, std::span<const int>, NcclShrink,
                                           const NcclPurpose&) override {
    log.emplace_back("shrink");
    return std::make_unique<NcclCommunicator>();
  }
  NcclStatus state(NcclCommunicator&) override {
    return is_launching_ ? NcclStatus::in_progress : status;
  }
  NcclStatus await_ready(NcclCommunicator&, TimePoint) override {
    is_launching_ = false;
    return status;
  }
  void revoke(std::span<NcclCommunicator* const> communicators) noexcept override {
    log.push_back("revoke " + std::to_string(communicators.size()));
  }
  void destroy(std::unique_ptr<NcclCommunicator>) noexcept override { log.emplace_back("destroy"); }
  void begin_group() override {
    require_launched("a group");
    is_in_group_ = true;
    log.emplace_back("(");
  }
  void end_group() override {
    is_in_group_ = false;
    is_launching_ = true;
    log.emplace_back(")");
  }
  void launch(NcclCommunicator&, NcclStream&, const NcclLaunch& launch,
              const NcclPurpose&) override {
    if (launch_error) throw NcclError(*launch_error, "planted");
    require_launched("a launch");
    is_launching_ = !is_in_group_;
    std::string text = std::string(to_string(launch.kind)) + " " + std::to_string(launch.count) +
                       " " + std::string(to_string(launch.data_type));
    if (reduces(launch.kind)) text += " " + std::string(to_string(launch.reduce_operation));
    if (launch.peer != no_rank) text += " " + std::to_string(launch.peer);
    log.push_back(text);
    if (moves_bytes) move(launch);
  }
  std::unique_ptr<NcclStream> make_stream(StreamPriority priority) override {
    if (priority == StreamPriority::high) log.emplace_back("high priority");
    return std::make_unique<NcclStream>();
  }
  std::unique_ptr<NcclEvent> make_event() override {
    ++events_made;
    return std::make_unique<Event>();
  }
  void record(NcclEvent& event, NcclStream&) override {
    require_launched("an event");
    static_cast<Event&>(event).is_done = !holds_events;
  }
  bool is_done(NcclEvent& event) override { return static_cast<Event&>(event).is_done; }
  void copy(NcclStream&, std::byte* to, const std::byte* from, std::size_t bytes) override {
    require_launched("a copy");
    std::memmove(to, from, bytes);
  }
  void call(NcclStream&, std::function<void()> function) override {
    require_launched("a function");
    function();
  }
  std::uint64_t changes() override { return change_count; }
  NcclWake wait_any(std::span<NcclEvent* const> events, TimePoint deadline,
                    std::uint64_t) override {
    deadlines.push_back(deadline);
    if (std::exchange(throws_out, false)) throw ThrownOut{};
    if (wakes.empty()) {
      static_cast<Event*>(events.front())->is_done = true;
      return {NcclWake::Reason::done, 0};
    }
    const NcclWake::Reason reason = wakes.front();
    wakes.pop_front();
    if (reason == NcclWake::Reason::look) ++change_count;
    return {reason, 0};
  }
  // What ends a wait that is not over, as a simulated run or a fault does.
  struct ThrownOut {};
  bool throws_out = false;  // the next wait
  void interrupt() noexcept override { ++change_count; }
  std::unique_ptr<NcclBuffer> allocate(NcclMemory memory, std::size_t bytes) override {
    return std::make_unique<Buffer>(memory, bytes);
  }

 private:
  // What follows a launch too early would come before it in the stream.
  void require_launched(const char* what) const {
    EXPECT_FALSE(is_launching_) << what << " before NCCL has taken the launch before it";
  }

  struct Event final : NcclEvent {
    std::atomic<bool> is_done = true;  // a watching thread waits, another one asks
  };

  void move(const NcclLaunch& launch) {
    const auto count = static_cast<std::size_t>(launch.count);
    const auto* const input = reinterpret_cast<const std::uint8_t*>(launch.input);
    auto* const output = reinterpret_cast<std::uint8_t*>(launch.output);
    const bool scatters = launch.kind == OperationKind::scatter;
    if (scatters || launch.kind == OperationKind::send)
      given.insert(given.end(), input, input + count * (scatters ? others.size() : 1));
    if (launch.kind == OperationKind::recv)
      std::memset(output, launch.peer, count);
    else if (launch.kind == OperationKind::all_gather || launch.kind == OperationKind::gather)
      for (std::size_t i = 0; i < others.size() * count; ++i)
        output[i] = static_cast<std::uint8_t>(input[i % count] + i / count);
    else if (launch.kind != OperationKind::send)
      std::memmove(output, input, count);
  }

  class Buffer final : public NcclBuffer {
   public:
    Buffer(NcclMemory memory, std::size_t bytes) : memory_(memory), bytes_(bytes) {}
    NcclMemory memory() const noexcept override { return memory_; }
    std::byte* data() const noexcept override { return const_cast<std::byte*>(bytes_.data()); }
    std::size_t size_bytes() const noexcept override { return bytes_.size(); }

   private:
    NcclMemory memory_;
    std::vector<std::byte> bytes_;
  };

  bool is_in_group_ = false;
  bool is_launching_ = false;  // until await_ready
};

// Rank 0 of a gang of `size` over a RecordingNccl.
struct RecordedGang {
  explicit RecordedGang(int size = 2, NcclTensors tensors = NcclTensors::on_host,
                        StreamPriority priority = StreamPriority::normal)
      : nccl(std::make_shared<RecordingNccl>()), runtime(make_real_runtime()) {
    nccl->others.resize(static_cast<std::size_t>(size), "");
    NcclGangOptions options;
    options.world = {nccl, nccl, runtime};
    options.size = size;
    options.tensors = tensors;
    options.priority = priority;
    gang = make_nccl_gang(options);
    nccl->log.clear();
  }

  std::shared_ptr<RecordingNccl> nccl;
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<Gang> gang;
};

// An operation of a gang of one over it, with four pinned bytes to be copied back to `result`.
struct RecordedFlight {
  RecordedFlight() : device(std::make_shared<NcclDevice>(NcclWorld{nccl, nccl, runtime})) {
    auto info = std::make_shared<GangInfo>();
    info->root_ranks = {0};
    Operation operation;
    operation.timeout = std::chrono::seconds(1);
    flight = std::make_shared<NcclFlight>(
        device, make_root_member({.info = info, .key = "root"}, device), operation);
    std::byte* const pinned = flight->scratch(NcclMemory::pinned, 4);
    pinned[2] = std::byte{7};
    flight->add_copy_back({result.data(), pinned, 4});
  }

  std::shared_ptr<RecordingNccl> nccl = std::make_shared<RecordingNccl>();
  std::shared_ptr<Runtime> runtime = make_real_runtime();
  std::shared_ptr<NcclDevice> device;
  std::shared_ptr<NcclFlight> flight;
  std::array<std::byte, 4> result{};
};

}  // namespace gang::test
