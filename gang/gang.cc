#include "gang/gang.h"

#include <algorithm>
#include <utility>

namespace gang {

Gang::Gang(std::shared_ptr<const GangInfo> info, int rank) noexcept
    : info_(std::move(info)), rank_(rank) {}

Gang::~Gang() = default;

Received Gang::do_run(Operation& operation) {
  Work work = do_start(operation);
  work.wait();
  return work.received();
}

std::shared_ptr<Gang> Gang::do_shrink(const ShrinkOptions&, const CallSite&) {
  throw NotSupported("shrink on " + label_of(info()) + ": backend " + info().backend +
                     " cannot shrink a gang; sim, gloo, nccl and fake can");
}

void Gang::abort() {
  if (!closed_) do_abort();
}

void Gang::close() {
  if (closed_) return;
  closed_ = true;
  for (const std::weak_ptr<Gang>& weak : std::exchange(children_, {}))
    if (const std::shared_ptr<Gang> child = weak.lock()) child->close();
  do_close();
}

void Gang::adopt(const std::shared_ptr<Gang>& child) {
  if (child == nullptr) return;
  // Expired children are dropped only when room is needed: a gang that makes and drops many stays
  // small.
  if (children_.size() == children_.capacity())
    std::erase_if(children_, [](const std::weak_ptr<Gang>& other) { return other.expired(); });
  children_.push_back(child);
}

}  // namespace gang
