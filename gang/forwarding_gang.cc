#include "gang/forwarding_gang.h"

#include <utility>

#include "gang/operation_checks.h"

namespace gang {

ForwardingGang::ForwardingGang(std::shared_ptr<Gang> inner)
    : Gang(inner->info_, inner->rank()), inner_(std::move(inner)) {}

void ForwardingGang::before(const Operation&) {}

void ForwardingGang::after(const Operation&) {}

std::shared_ptr<Gang> ForwardingGang::wrap(std::shared_ptr<Gang> child) {
  return std::make_shared<ForwardingGang>(std::move(child));
}

Work ForwardingGang::do_start(Operation& operation) {
  Gang& inner = open_inner(operation);
  before(operation);
  Work work = inner.do_start(operation);
  after(operation);
  return work;
}

Received ForwardingGang::do_run(Operation& operation) {
  Gang& inner = open_inner(operation);
  before(operation);
  const Received received = inner.do_run(operation);
  wrap_created(operation);
  after(operation);
  return received;
}

std::shared_ptr<Gang> ForwardingGang::do_shrink(const ShrinkOptions& options,
                                                const CallSite& call_site) {
  return wrap(inner_->shrink(options, call_site));
}

void ForwardingGang::do_abort() { inner_->abort(); }

void ForwardingGang::do_close() noexcept { inner_->close(); }

// The checks of Gang have asked this gang whether it is closed, not the inner one.
Gang& ForwardingGang::open_inner(const Operation& operation) {
  if (inner_->is_closed())
    throw ClosedGang("the gang that " + label_of(info()) + " forwards to is closed",
                     operation.collective.call_site);
  return *inner_;
}

// Children come from blocking calls only, so that the child is there when do_run has returned.
void ForwardingGang::wrap_created(const Operation& operation) {
  if (operation.created == nullptr || *operation.created == nullptr) return;
  inner_->adopt(*operation.created);
  *operation.created = wrap(std::move(*operation.created));
}

}  // namespace gang
