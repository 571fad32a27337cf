// How NCCL and its devices are simulated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gang::sim {

// Which of the operations that a rank has launched on streams of its device starts first.
enum class LaunchOrder : std::uint8_t {
  host,  // the one launched first, as with NCCL_LAUNCH_ORDER_IMPLICIT=1
  any,   // any that heads its stream: the schedule's choice
};

// How a rank learns that a peer's process is gone.
enum class PeerLinks : std::uint8_t {
  device,   // over NVLink or shared memory: not at all, its kernels spin until they are aborted
  sockets,  // over the network: its communicators report a remote error
};

// When a host goes on after a launch.
enum class HostLaunch : std::uint8_t {
  asynchronous,  // at once
  blocking,      // when the kernel has run, as with CUDA_LAUNCH_BLOCKING=1
};

// The strictest devices by default: what holds here also holds where they do more at once.
struct NcclModel {
  int resident = 1;  // kernels of communicators that a device runs at once, at least 1
  LaunchOrder order = LaunchOrder::host;
  PeerLinks links = PeerLinks::device;
  HostLaunch launch = HostLaunch::asynchronous;

  friend bool operator==(const NcclModel&, const NcclModel&) = default;
};

// "resident=1,order=host,links=device,launch=async"; parse takes any of the parts, in any order.
std::string to_string(const NcclModel& model);
std::optional<NcclModel> parse_nccl_model(std::string_view text) noexcept;

}  // namespace gang::sim
