// Runs programs whose ranks are other processes: their operations are the simulator's.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/conductor/janitor.h"
#include "harness/conductor/key_store.h"
#include "harness/conductor/launcher.h"
#include "harness/conductor/lobby.h"
#include "harness/conductor/new_groups.h"
#include "harness/conductor/no_preemption.h"
#include "harness/conductor/poller.h"
#include "harness/conductor/rank_output.h"
#include "harness/conductor/rank_process.h"
#include "harness/conductor/turns.h"
#include "harness/program/program.h"
#include "sim/options/simulation_options.h"
#include "sim/report/report.h"

namespace gang::harness {

class StartedOperation;

struct ConductorOptions {
  std::string socket = {};             // where to listen; empty: in a folder of its own
  std::optional<int> world_size = {};  // none: what the first process says
  sim::ExecutionModel execution = sim::ExecutionModel::independent;
  TurnOptions turns = {};
};

// The processes of one run after another. Each rank's context in the simulator serves its process:
// takes a request, performs it on the rank's gangs, answers.
class Conductor {
 public:
  // `output` is borrowed by `out` and `err` for as long as the conductor lives.
  Conductor(const ConductorOptions& options, RankSelection output, std::ostream& out,
            std::ostream& err);
  ~Conductor();
  Conductor(const Conductor&) = delete;
  Conductor& operator=(const Conductor&) = delete;

  Poller& poller() noexcept { return poller_; }
  const std::string& socket() const noexcept { return lobby_.path(); }
  RankLauncher::Events events();

  int world_size() const noexcept { return world_size_.value_or(0); }  // 0: not known yet

  // Once, before the first run.
  void set_launcher(std::unique_ptr<RankLauncher> launcher) { launcher_ = std::move(launcher); }

  // Blocks until the world size is known: until a process has said it, unless the options do.
  // Throws InvalidArgument if none can come any more, Interrupted.
  int await_world();

  // Before a run of processes that this conductor does not start itself: what they are told.
  void prepare_run(std::uint64_t seed);

  // What each rank runs: its process, from a run's beginning to its end.
  Program program(std::string name);

  // After a run, while its processes still stand where they were: adds to the report what only they
  // know: the stacks of those that are blocked, and the keys that they wait for. Throws
  // InvalidArgument if the ranks have done nothing but start others, which would be ranks.
  void complete(sim::Report& report);

  // Tells the processes of the last run its verdict, which their calls then raise; kills those that
  // have not ended soon. Ranks that a fault has crashed are killed at once. Returns whether what
  // had started the processes ended in good order.
  bool end_run(const sim::Report& report, std::string_view verdict);

  const Turns& turns() const noexcept { return turns_; }

  // The traceback of the exception that ended a rank of the last run; empty if there was none.
  std::string traceback_of(int rank) const;

 private:
  friend class RankService;

  std::string receive(std::unique_ptr<Caller>& caller, pid_t process);
  RankProcess* find_process(pid_t process);
  void began(int rank, pid_t process);
  void ended(pid_t process, int status);
  void note_end(RankProcess& process);
  void watch_end(RankProcess& process);
  void read(Caller& caller);
  void send(Connection& connection, const Frame& frame);
  void stop_reading(Connection& connection);

  void keep_until_next_run(std::vector<std::shared_ptr<StartedOperation>> operations);

  // A rank of the simulator begins: its process, which may have to be started.
  RankProcess& process_for(Rank& rank);
  void begin_run();
  void say_over(std::string_view verdict);
  bool is_over(const RankProcess& process) const;
  bool all_have_ended() const;
  std::vector<Caller*> ask_stacks();
  void add_call_stacks(sim::Report& report);
  void kill_all() noexcept;

  const ConductorOptions options_;
  const NoPreemption no_preemption_;
  Poller poller_;
  Turns turns_;
  KeptTexts texts_;
  KeyStore store_;
  NewGroups new_groups_;
  std::optional<int> world_size_;
  std::uint64_t seed_ = 1;
  std::uint64_t run_ = 0;  // the number of the run under way, or of the last one
  std::vector<std::unique_ptr<RankProcess>> processes_;       // by rank, of the run
  std::vector<std::unique_ptr<RankProcess>> former_;          // of incarnations before
  std::vector<std::shared_ptr<StartedOperation>> outliving_;  // that no rank has waited for
  std::string refused_started_;  // why the first process that a rank has started was refused
  RankOutput output_;
  Lobby lobby_;
  Janitor janitor_;
  std::unique_ptr<RankLauncher> launcher_;
};

}  // namespace gang::harness
