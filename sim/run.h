// One run: its parts, what happens when no context can run, and its report.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gang/recycled.h"
#include "sim/engine/awaiting.h"
#include "sim/engine/engine.h"
#include "sim/injection/fault_injector.h"
#include "sim/matching/foreign_gangs.h"
#include "sim/matching/matching.h"
#include "sim/matching/named_gangs.h"
#include "sim/matching/reduction_pool.h"
#include "sim/passing_time.h"
#include "sim/recording/trace_recorder.h"
#include "sim/report/finding_log.h"
#include "sim/report/report.h"
#include "sim/simulation.h"
#include "sim/state/world.h"
#include "sim/verdict/call_stacks.h"
#include "sim/verdict/deadlock_verdict.h"
#include "sim/verdict/verdict_diagnosis.h"

namespace gang::sim {

// Composes the rooms of sim/; the only one that knows them all.
class Run final : public EngineClient {
 public:
  // Both outlive the run.
  Run(const SimulationOptions& options, const RankProgram& program);
  ~Run() override;

  // Once.
  Report run();

  World& world() noexcept { return world_; }
  FaultInjector* faults() noexcept { return faults_.get(); }

  // Searches for contexts that can never continue, as of now. Under the engine's Guard.
  Report examine();

  // The current rank's handle of a second gang of all ranks, which programs do not know. Under
  // the engine's Guard.
  std::shared_ptr<Gang> second_root();

  void run_program(Task& task) noexcept override;
  void context_began(const Task& task) override;
  void context_ended(const Task& task) override;
  void context_failed(Task& task, const std::exception_ptr& error) override;
  bool are_calls_plain() const noexcept override;
  void unwinding(const Task& self) override { call_stacks_.note(self); }
  void context_left_behind(const Task& task, LeftBehindBy why) override;
  bool let_devices_go_on() override;
  bool let_time_pass() override;
  void pass_time(Duration step) override { time_.pass(step); }
  void give_verdict() override;
  void search() override;
  void step_limit_reached() override { end(Outcome::step_limit); }
  void schedule_diverged() override { end(Outcome::diverged); }
  Duration stretched(Duration sleep, const Task& task) override;

 private:
  std::shared_ptr<Gang> root_gang_of(const Task& task);
  void restart(int rank);
  bool only_frozen_are_left() noexcept;
  bool timeouts_fire() const noexcept;
  bool finds_deadlock_while_others_run();
  bool gives_verdict(Moment moment);  // if there is anything to say
  void end_with_verdict(Moment moment);
  void end(Outcome outcome);
  void note_faults(Report& report) const;
  Report make_report();

  // How it has ended.
  struct Ending {
    Outcome outcome = Outcome::completed;
    Verdict verdict;
    std::vector<LeftBehind> left_behind;
  };

  struct Runtimes {
    std::unique_ptr<Runtime> of_programs;
    std::unique_ptr<Runtime> of_gangs;  // null: SimGang
  };

  const SimulationOptions& options_;
  const RankProgram& program_;
  RecycledList<RankState> ranks_;
  Counts counts_;
  FindingLog findings_;
  TraceRecorder recorder_;
  Engine engine_;
  ReductionPool reduction_pool_;
  Runtimes runtimes_;
  World world_;
  VerdictDiagnosis diagnosis_;
  Matching matching_;
  PassingTime time_;
  std::unique_ptr<FaultInjector> faults_;
  std::unique_ptr<ForeignGangs> foreign_gangs_;  // null: SimGang
  std::shared_ptr<GangState> second_root_;       // once asked for
  NamedGangs named_gangs_{world_};
  Awaiting awaiting_{engine_};
  Ending ending_;
  CallStacks call_stacks_;
};

}  // namespace gang::sim
