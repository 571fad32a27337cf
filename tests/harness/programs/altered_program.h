// Programs whose gangs are listened to, or do something else than they are asked to.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gang/forwarding_gang.h"
#include "harness/program/program.h"
#include "harness/program/rank.h"

namespace gang::harness {

// What happens to the calls of every rank, if it is not null.
struct Alteration {
  std::function<void(const Gang& gang, Operation& operation)> before = {};
  std::function<void(const Gang& gang, Operation& operation)> after = {};      // of a blocking call
  std::function<Received(const Gang& gang, Received received)> received = {};  // by start_recv
  std::function<void(const Gang& gang)> closed = {};
};

class AlteredGang final : public ForwardingGang {
 public:
  AlteredGang(std::shared_ptr<Gang> inner, const Alteration& alteration)
      : ForwardingGang(std::move(inner)), alteration_(alteration) {}

 protected:
  Work do_start(Operation& operation) override {
    if (alteration_.before) alteration_.before(*this, operation);
    Work work = ForwardingGang::do_start(operation);
    if (!alteration_.received || operation.collective.kind != OperationKind::recv) return work;
    work.wait();
    return Work(alteration_.received(*this, work.received()));
  }

  Received do_run(Operation& operation) override {
    if (alteration_.before) alteration_.before(*this, operation);
    const Received received = ForwardingGang::do_run(operation);
    if (alteration_.after) alteration_.after(*this, operation);
    return received;
  }

  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override {
    return std::make_shared<AlteredGang>(std::move(child), alteration_);
  }

  void do_close() noexcept override {
    if (alteration_.closed) alteration_.closed(*this);
    ForwardingGang::do_close();
  }

 private:
  const Alteration& alteration_;
};

// `program` on gangs that are altered.
inline Program altered(Program program, Alteration alteration) {
  program.run = [run = std::move(program.run), alteration = std::move(alteration)](Rank& rank) {
    const std::shared_ptr<Gang> root = std::make_shared<AlteredGang>(rank.root(), alteration);
    Rank decorated(rank, root);
    run(decorated);
  };
  return program;
}

// A call as a rank makes it.
struct HeardCall {
  int rank = 0;  // of the gang
  std::string gang;
  OperationKind kind = OperationKind::barrier;
  std::string label;
};

// `program`, whose calls are added to `calls`, which outlives it. Not for ranks that are threads.
inline Program heard(Program program, std::vector<HeardCall>& calls) {
  return altered(
      std::move(program), {.before = [&calls](const Gang& gang, Operation& operation) {
        calls.push_back({gang.rank(), std::string(gang.name()), operation.collective.kind,
                         std::string(operation.collective.label)});
      }});
}

}  // namespace gang::harness
