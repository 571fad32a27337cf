// How the processes of ranks come to be.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/conductor/offspring.h"
#include "harness/conductor/poller.h"
#include "harness/conductor/rank_output.h"

namespace gang::harness {

using ProcessEnvironment = std::map<std::string, std::string>;

// What a Python process is to run.
struct PythonProgram {
  std::string python;              // the interpreter
  std::string packages;            // the folder of the package gangsim
  bool with_torch = false;         // import it before the ranks are forked
  bool is_plain = false;           // without gangsim: just the interpreter
  std::vector<std::string> words;  // SCRIPT or -m MODULE, and its arguments
};

// The words that run all ranks as threads of one process.
std::vector<std::string> words_for_threads(const PythonProgram& program, int world_size);

// The variable of a rank's environment that tells where the conductor listens.
inline constexpr const char* socket_variable = "GANGSIM_SOCKET";

// Starts the processes of ranks, unless something else does. What they have started, at whatever
// remove, ends with the launcher.
class RankLauncher {
 public:
  // What the launcher tells about processes: their ids, and how they ended (as waitpid gives it).
  struct Events {
    std::function<void(int rank, pid_t process)> started;
    std::function<void(pid_t process, int status)> ended;
  };

  virtual ~RankLauncher() = default;

  // Whether `launch` starts a process for a rank, so that the program can be run again.
  virtual bool launches() const noexcept = 0;

  // What has been launched so far belongs to runs that are over.
  virtual void begin_run() {}

  // Whether this process is one of those, and says hello late: it is over, or will be killed.
  virtual bool is_of_earlier_run(int /*rank*/, pid_t /*process*/) { return false; }

  // Starts a process for the rank. `environment` is added to that of this process.
  virtual void launch(int rank, const ProcessEnvironment& environment, RankOutput::Pipes pipes) = 0;

  // The run is over: waits for what started the ranks, if that is not this process. Whether it
  // ended in good order.
  virtual bool await_end(Duration /*limit*/) { return true; }

  // No rank can come any more: what started them has ended. Empty: they can; otherwise why not.
  virtual std::string why_none_can_come() const { return ""; }
};

// The ranks come by themselves: whoever called this starts them.
class NoLauncher final : public RankLauncher {
 public:
  bool launches() const noexcept override { return false; }
  void launch(int, const ProcessEnvironment&, RankOutput::Pipes) override {}
};

// A command that starts the ranks, such as torchrun. It is killed with its launcher.
class CommandLauncher final : public RankLauncher {
 public:
  // Throws InvalidArgument if there is no such command.
  CommandLauncher(Poller& poller, const std::vector<std::string>& words,
                  const ProcessEnvironment& environment);
  ~CommandLauncher() override;

  bool launches() const noexcept override { return false; }
  void launch(int, const ProcessEnvironment&, RankOutput::Pipes) override {}
  bool await_end(Duration limit) override;
  std::string why_none_can_come() const override;

 private:
  Offspring offspring_;  // the first member: it goes last
  Poller& poller_;
  std::string name_;
  pid_t process_ = 0;
  Descriptor ended_by_;
  int status_ = -1;  // as waitpid gives it; -1: it runs
};

// Forks ranks from a Python process that has imported what all of them need ("the zygote").
class ForkLauncher final : public RankLauncher {
 public:
  // Blocks until the imports are done. Throws InvalidArgument if the program cannot be read or does
  // not compile, NotSupported if the interpreter or a library is missing, Interrupted.
  ForkLauncher(Poller& poller, const PythonProgram& program, const ProcessEnvironment& environment,
               Events events);
  ~ForkLauncher() override;

  bool launches() const noexcept override { return true; }
  void begin_run() override;
  bool is_of_earlier_run(int rank, pid_t process) override;
  void launch(int rank, const ProcessEnvironment& environment, RankOutput::Pipes pipes) override;
  std::string why_none_can_come() const override;

 private:
  void await_ready(const std::string& program);
  void hear();
  void handle(const std::string& message);

  Offspring offspring_;  // the first member: it goes last
  Poller& poller_;
  Events events_;
  Descriptor control_;
  pid_t process_ = 0;
  bool is_ready_ = false;
  std::string error_;
  std::set<pid_t> ranks_;       // that run
  std::set<pid_t> launched_;    // in this run
  std::set<pid_t> former_;      // in runs before; until another process has the same number
  std::map<int, int> awaited_;  // by rank: forks of this run that have not been heard of
  std::map<int, int> late_;     // the same, of runs that are over
};

// A Python with its own process for each rank, started anew: slower, and nothing is shared.
class SpawnLauncher final : public RankLauncher {
 public:
  SpawnLauncher(Poller& poller, PythonProgram program, ProcessEnvironment environment,
                Events events);
  ~SpawnLauncher() override;

  bool launches() const noexcept override { return true; }
  void launch(int rank, const ProcessEnvironment& environment, RankOutput::Pipes pipes) override;

 private:
  void reap(pid_t process);

  Offspring offspring_;  // the first member: it goes last
  Poller& poller_;
  PythonProgram program_;
  ProcessEnvironment environment_;
  Events events_;
  std::map<pid_t, Descriptor> processes_;
};

}  // namespace gang::harness
