#include "gang/nccl/nccl_member.h"

#include <exception>
#include <utility>

#include "gang/nccl/nccl_device.h"

namespace gang {

NcclMember::NcclMember(NcclMemberOptions options, std::shared_ptr<NcclDevice> device,
                       std::unique_ptr<NcclCommunicator> communicator)
    : options_(std::move(options)),
      device_(std::move(device)),
      communicator_(std::move(communicator)),
      stream_(device_->api().make_stream(options_.priority)),
      token_(device_->pool().take_buffer(NcclMemory::device, 2 * sizeof(std::int64_t))) {}

NcclMember::~NcclMember() {
  close();
  std::vector<std::unique_ptr<NcclBuffer>> buffers;
  buffers.push_back(std::move(token_));
  device_->pool().give_back(nullptr, std::move(buffers));
}

bool NcclMember::is_closed(const std::unique_lock<RuntimeMutex>&) const noexcept {
  return communicator_ == nullptr;
}

bool NcclMember::is_broken(const std::unique_lock<RuntimeMutex>&) const noexcept {
  return cause_.has_value();
}

bool NcclMember::set_cause(const GangCause& cause, const std::unique_lock<RuntimeMutex>&) {
  if (cause_ || communicator_ == nullptr) return false;
  cause_ = cause;
  return true;
}

GangError NcclMember::make_error(const NcclPurpose& purpose, TimePoint began,
                                 GangCause cause) const {
  return error_for(*info(), rank(), purpose.call, std::move(cause),
                   device_->runtime().now() - began);
}

GangError NcclMember::error_of(const NcclPurpose& purpose, TimePoint began,
                               const std::unique_lock<RuntimeMutex>&) const {
  return make_error(purpose, began, *cause_);
}

std::vector<int> NcclMember::known_to_be_gone() const {
  const auto lock = device_->board()->lock();
  if (!cause_ || cause_->kind != GangErrorKind::peer_failed) return {};
  return cause_->ranks_at_fault;
}

void NcclMember::require_intact(const NcclPurpose& purpose, TimePoint began) const {
  const auto lock = device_->board()->lock();
  if (cause_) throw error_of(purpose, began, lock);
}

void NcclMember::fail(const NcclPurpose& purpose, TimePoint began, GangCause cause) {
  break_with(std::move(cause));
  const auto lock = device_->board()->lock();
  throw error_of(purpose, began, lock);
}

void NcclMember::break_with(GangCause cause) noexcept {
  device_->break_one(*this, std::move(cause));
}

GangCause NcclMember::timeout_cause(const NcclPurpose& purpose) const {
  return {.kind = GangErrorKind::timeout,
          .reason = "rank " + std::to_string(rank()) + " waited for its peers in " +
                    to_string(purpose.call)};
}

GangCause NcclMember::neighbor_cause(const NcclMember& late) const {
  return {.kind = GangErrorKind::aborted,
          .reason = "rank " + std::to_string(rank()) +
                    " ended all gangs of its device after a timeout in " + late.info()->name};
}

GangCause NcclMember::status_cause(NcclStatus status) const {
  const std::string said = "NCCL reports: " + std::string(to_string(status));
  if (status == NcclStatus::remote_error)
    return {.kind = GangErrorKind::peer_failed, .reason = "a member is gone (" + said + ")"};
  return {.kind = GangErrorKind::connection, .reason = said};
}

void NcclMember::close() noexcept {
  if (std::exchange(is_closed_, true)) return;
  try {
    leave();
  } catch (...) {
    // A simulated run is over.
  }
  device_->board()->forget_ended();
}

void NcclMember::leave() {
  if (std::uncaught_exceptions() > 0) {
    break_with(gave_up(rank()));
  } else if (device_->is_busy(*this)) {
    break_with(aborted_by(rank(), "closed the gang"));
    device_->await_all(*this);
  }
  device_->remove(*this);
  std::unique_ptr<NcclCommunicator> communicator;
  {
    const auto lock = device_->board()->lock();
    communicator = std::move(communicator_);
  }
  device_->bury(std::move(communicator));
}

}  // namespace gang
