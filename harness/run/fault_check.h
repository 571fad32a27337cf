// Is what went wrong contained? Looks at every run that meets faults.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "harness/program/program.h"
#include "harness/run/runner.h"

namespace gang::harness {

// Watches the ranks of one run with faults: how each ends, and whether those that are left can go
// on with a new gang once the faults have stopped.
//
// A run is contained where each rank that was left ended with a right result or a typed error of a
// true kind (timeout, peer_failed, aborted, connection; corrupt where data was corrupted), nobody
// hung, and the survivors' new gang works. An error that a program lets through is contained: the
// finding says so, and names the fault.
class FaultWatch {
 public:
  FaultWatch(const Program& program, int world_size);
  ~FaultWatch();
  FaultWatch(const FaultWatch&) = delete;
  FaultWatch& operator=(const FaultWatch&) = delete;

  // The program, watched. Once a fault has happened, each rank whose program has returned or failed
  // with a GangError stops its faults, and all of them make a gang that counts its members. Valid
  // while this is.
  const Program& program() const noexcept { return watched_; }

  // Judges the run. `clean` are the outputs, with their data, of a run without the faults; null
  // where they are not known. Outputs of one name are compared: what a program puts out after a
  // failure, it calls otherwise. Adds the finding wrong_result where they differ.
  void judge(const Outputs* clean, RunResult& result) const;

 private:
  struct Ends;

  std::shared_ptr<Ends> ends_;
  Program watched_;
};

// Whether the faults of the run corrupted data without telling anybody.
bool corrupted_silently(const sim::Report& report);

}  // namespace gang::harness
