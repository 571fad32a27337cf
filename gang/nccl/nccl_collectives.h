// The operations of a gang, as launches on its stream.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gang/nccl/nccl_api.h"
#include "gang/nccl/nccl_flight.h"
#include "gang/nccl/nccl_member.h"
#include "gang/operation.h"

namespace gang {

// Throws NotSupported, before anything is launched, for what NCCL cannot do: tags, receives from
// any source, and messages of a rank to itself outside a batch.
void check_supported(const Operation& operation, int rank);

// Launches one operation. What NCCL lacks is built from what it has: bitwise reductions from a
// gather and a reduction on the host, in stream order; bool from unsigned bytes; lists and split
// sizes from copies and grouped messages. An operation without elements is a reduction of one
// element, so that it matches and orders like any other. Tensors on the host are copied to the
// device and back (NcclTensors).
//
// Takes the right to launch for each call of NCCL only, and waits, without it, until NCCL has put
// the call into the stream: what follows there must not come before it. A communicator that fails
// meanwhile, or is not ready by the flight's deadline, breaks the gang, and nothing more is
// launched. Throws NcclError.
class NcclCollectives {
 public:
  NcclCollectives(NcclMember& member, NcclFlight& flight) noexcept;

  void launch(const Operation& operation);

 private:
  // An operation whose tensors are on the device.
  void launch_on_device(const Operation& operation);
  void barrier();
  void reduction(const Operation& operation);
  void reduction_on_host(const Operation& operation);
  void all_gather_to_list(const Operation& operation);
  void gather(const Operation& operation);
  void scatter(const Operation& operation);
  void all_to_all(const Operation& operation);
  void uneven_exchange(const Operation& operation);
  void exchange_pairs(const Operation& operation);
  void messages(std::span<const PointToPoint> entries);
  void pass_messages(std::span<const PointToPoint> entries);

  TensorView staged_in(const Elements& tensor);
  TensorView staged_out(const Elements& tensor);
  std::vector<TensorView> staged(std::span<const TensorView> tensors, bool is_input);

  // Calls `launches`, which calls start(), when NCCL can take a launch.
  template <typename Launches>
  void in_turn(const Launches& launches);
  void settle();

  void start(NcclLaunch launch);
  void start_alone(const NcclLaunch& launch);
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);
  void copy_out(std::span<const TensorView> outputs, const std::byte* from);
  bool is_root(const Operation& operation) const noexcept;
  std::size_t size() const noexcept { return static_cast<std::size_t>(member_.size()); }

  NcclMember& member_;
  NcclFlight& flight_;
  NcclApi& api_;
  bool has_failed_ = false;
};

}  // namespace gang
