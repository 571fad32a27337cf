// How to simulate NCCL and its devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gang::sim {

// Which of the operations launched on the streams of a rank's device starts first.
enum class LaunchOrder : std::uint8_t {
  host,  // the one launched first, as with NCCL_LAUNCH_ORDER_IMPLICIT=1
  any,   // any operation at the head of its stream: the schedule chooses
};

// How a rank learns that a peer's process has died.
enum class PeerLinks : std::uint8_t {
  device,   // NVLink or shared memory: it does not; its kernels spin until they are aborted
  sockets,  // network: its communicators report a remote error
};

// When the host continues after a launch.
enum class HostLaunch : std::uint8_t {
  asynchronous,  // at once
  blocking,      // once the kernel has finished, as with CUDA_LAUNCH_BLOCKING=1
};

// The strictest devices by default: what works here also works on devices that run more at once.
struct NcclModel {
  int resident = 1;  // communicator kernels that a device runs at once, at least 1
  LaunchOrder order = LaunchOrder::host;
  PeerLinks links = PeerLinks::device;
  HostLaunch launch = HostLaunch::asynchronous;

  friend bool operator==(const NcclModel&, const NcclModel&) = default;
};

// "resident=1,order=host,links=device,launch=async"; parse accepts any subset, in any order.
std::string to_string(const NcclModel& model);
std::optional<NcclModel> parse_nccl_model(std::string_view text) noexcept;

}  // namespace gang::sim
