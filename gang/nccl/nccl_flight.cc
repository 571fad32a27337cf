#include "gang/nccl/nccl_flight.h"

#include <cstring>
#include <utility>

#include "gang/nccl/nccl_device.h"
#include "gang/nccl/nccl_member.h"

namespace gang {

NcclFlight::NcclFlight(std::shared_ptr<NcclDevice> device, std::shared_ptr<NcclMember> member,
                       const Operation& operation)
    : EndingWork(device->board(), operation.collective.call_site),
      device_(std::move(device)),
      member_(std::move(member)),
      purpose_{member_->info(), operation.collective},
      began_(device_->runtime().now()),
      deadline_(deadline_after(began_, operation.timeout)),
      event_(device_->pool().take_event()) {
  purpose_.call.label = {};
}

NcclFlight::~NcclFlight() { device_->pool().give_back(std::move(event_), std::move(buffers_)); }

std::byte* NcclFlight::scratch(NcclMemory memory, std::size_t bytes) {
  buffers_.push_back(device_->pool().take_buffer(memory, bytes));
  return buffers_.back()->data();
}

void NcclFlight::forget_tensors() noexcept {
  const std::lock_guard lock(copying_);
  copies_.clear();
}

void NcclFlight::copy_back() noexcept {
  const std::lock_guard lock(copying_);
  for (const NcclCopyBack& copy : copies_)
    if (copy.bytes > 0) std::memcpy(copy.to, copy.from, copy.bytes);
}

void NcclFlight::await() { device_->await(*this); }

bool NcclFlight::run_in_background() { return device_->watch(*this); }

void NcclFlight::leave_memory() {
  for (auto& buffer : buffers_) member_->keep(std::move(buffer));
  buffers_.clear();
}

void NcclFlight::abandon() noexcept { member_->break_with(gave_up(member_->rank())); }

}  // namespace gang
