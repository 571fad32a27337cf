// The base of gangs that wrap another: validating, recording, fault-injecting.
#pragma once

#include <memory>

#include "gang/parent_gang.h"

namespace gang {

// Forwards everything to an inner gang. A decorator overrides `before` and `after` (or do_start and
// do_run, to do more) and `wrap`, so that the gangs made from it are decorated too.
//
// Ownership: shares the inner gang; closing or aborting this gang does the same to the inner one.
// Threads: as Gang.
class ForwardingGang : public ParentGang {
 public:
  explicit ForwardingGang(std::shared_ptr<Gang> inner);

  Gang& inner() const noexcept { return *inner_; }

  const std::shared_ptr<Gang>& shared_inner() const noexcept { return inner_; }

  // `gang`, which was not made from this one, decorated as if it had been.
  std::shared_ptr<Gang> decorated(std::shared_ptr<Gang> gang);

 protected:
  // Called with each operation before it reaches the inner gang. If it throws, the caller gets that
  // exception and nothing has been sent.
  virtual void before(const Operation& operation);

  // Called when the inner gang has accepted a started operation or finished a blocking one; not
  // when the inner gang threw.
  virtual void after(const Operation& operation);

  // The decorated form of a gang that the inner gang has made or shrunk to.
  virtual std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child);

  Work do_start(Operation& operation) override;
  Received do_run(Operation& operation) override;
  std::shared_ptr<Gang> do_shrink(const ShrinkOptions& options, const CallSite& call_site) override;
  void do_abort() override;
  void do_close() noexcept override;

 private:
  Gang& open_inner(const Operation& operation);

  std::shared_ptr<Gang> inner_;
};

}  // namespace gang
