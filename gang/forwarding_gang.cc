#include "gang/forwarding_gang.h"

#include <utility>

#include "gang/operation_checks.h"

namespace gang {

ForwardingGang::ForwardingGang(std::shared_ptr<Gang> inner)
    : ParentGang(shared_info(*inner), inner->rank()), inner_(std::move(inner)) {}

void ForwardingGang::before(const Operation&) {}

void ForwardingGang::after(const Operation&) {}

std::shared_ptr<Gang> ForwardingGang::wrap(std::shared_ptr<Gang> child) {
  return std::make_shared<ForwardingGang>(std::move(child));
}

std::shared_ptr<Gang> ForwardingGang::decorated(std::shared_ptr<Gang> gang) {
  if (auto* const inner = dynamic_cast<ForwardingGang*>(inner_.get()))
    gang = inner->decorated(std::move(gang));
  return wrap(std::move(gang));
}

Work ForwardingGang::do_start(Operation& operation) {
  Gang& inner = open_inner(operation);
  before(operation);
  Work work = start_on(inner, operation);
  after(operation);
  return work;
}

Received ForwardingGang::do_run(Operation& operation) {
  Gang& inner = open_inner(operation);
  before(operation);
  const Received received = run_on(inner, operation);
  // Only blocking calls make children, so that the child exists when run_on has returned.
  if (operation.extras->created != nullptr && *operation.extras->created != nullptr)
    *operation.extras->created = wrap(std::move(*operation.extras->created));
  after(operation);
  return received;
}

std::shared_ptr<Gang> ForwardingGang::do_shrink(const ShrinkOptions& options,
                                                const CallSite& call_site) {
  return wrap(inner_->shrink(options, call_site));
}

void ForwardingGang::do_abort() { inner_->abort(); }

void ForwardingGang::do_close() noexcept { inner_->close(); }

// Gang has checked that this gang is open, but not the inner one.
Gang& ForwardingGang::open_inner(const Operation& operation) {
  if (inner_->is_closed())
    throw ClosedGang("the gang that " + label_of(info()) + " forwards to is closed",
                     operation.collective.call_site);
  return *inner_;
}

}  // namespace gang
