// Are faults contained? Judges every run with faults.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gang/gang.h"
#include "harness/program/program.h"
#include "harness/run/runner.h"

namespace gang::harness {

// Watches the ranks of one run with faults: how each ends, and whether the survivors can continue
// with a new gang once the faults have stopped.
//
// A run is contained if each surviving rank ended with a right result or a typed error of a true
// kind (timeout, peer_failed, aborted, connection; corrupt if data was corrupted), no rank hung,
// and the survivors' new gang works. An error that a program does not handle is contained: the
// finding says so, and names the fault.
class FaultWatch {
 public:
  explicit FaultWatch(const Program& program);
  ~FaultWatch();
  FaultWatch(const FaultWatch&) = delete;
  FaultWatch& operator=(const FaultWatch&) = delete;

  // The program, watched. Once a fault has happened, each rank whose program has returned or failed
  // with a GangError stops its faults, and all of them make a gang that counts its members. Valid
  // as long as this object.
  const Program& program() const noexcept { return watched_; }

  // Judges the run. `clean` tells the outputs, with their data, of a run without the faults, and is
  // called where faults have happened and the run is over; null if they are unknown. Outputs of the
  // same name are compared: after a failure, programs use other names. Adds the finding
  // wrong_result if they differ.
  void judge(const std::function<const Outputs&()>& clean, RunResult& result) const;

 private:
  struct Ends;

  std::shared_ptr<Ends> ends_;
  Program watched_;
};

// The members of `all` that are left make a new gang, which must count them. Returns what is wrong
// with it; empty if nothing is. Blocks until each other member has called this or is gone.
std::string trouble_of_survivors(Gang& all);

// For RunRecording::clean: runs the program without the faults of `specification` when it is first
// asked. `program` outlives it.
std::function<const Outputs&()> clean_outputs(const Program& program,
                                              const RunSpecification& specification);

// Whether the faults of the run corrupted data without an error on any rank.
bool corrupted_silently(const sim::Report& report);

}  // namespace gang::harness
