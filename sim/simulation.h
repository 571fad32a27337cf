// A world of N ranks in one process.
#pragma once

#include <any>
#include <functional>
#include <memory>
#include <optional>

#include "gang/gang.h"
#include "gang/runtime.h"
#include "sim/options/simulation_options.h"
#include "sim/report/report.h"
#include "sim/schedule/random_stream.h"

namespace gang::sim {

class AwaitedMessage;
enum class Awaited : std::uint8_t;
class Run;
struct ProcessDeath;
struct World;

// What a rank's program receives. Valid while that program runs; used from its contexts only.
class SimulatedRank {
 public:
  int rank() const noexcept { return rank_; }
  int world_size() const noexcept;
  const std::shared_ptr<Gang>& root() const noexcept { return root_; }

  // Of this run: no other one of this process has the same.
  std::uint64_t run_number() const noexcept;

  // How often a fault has restarted the rank. Nothing of earlier incarnations is left.
  int incarnation() const noexcept { return incarnation_; }

  // Whatever the embedding program keeps for this rank; empty at first, and gone when the rank's
  // program ends. A restarted rank has a new one.
  std::any& state() noexcept { return state_; }

  // This rank's threads, time and mutexes, under the scheduler and the virtual clock.
  Runtime& runtime() noexcept;

  // Whether any fault of the run's plan has happened yet, on any rank.
  bool faults_have_fired() const noexcept;

  // A second gang of all ranks, beside the root, for code that observes programs: nothing a
  // program does to its own gangs affects it.
  std::shared_ptr<Gang> second_root();

  // Stops all further faults of this rank and its links, to see whether a program recovers.
  void stop_faults() noexcept;

  // A random stream private to this rank: a function of the seed, the rank and `name`.
  RandomStream random_stream(std::string_view name) const noexcept;

  // Reports which contexts can never continue, as of now, even while others run; for a rank that
  // watches the rest. A context counts as stuck even if an abort or an exception could still end
  // its wait. The outcome is deadlock, with findings and blocked contexts, or completed if all
  // others may still continue. The run's own report is not affected. O(blocked contexts + waits).
  Report examine() const;

  // -- For a rank whose program runs in another process --

  // Lets all other contexts run until none of them can. Then, before time passes or a verdict
  // falls, the contexts that wait here may run, in an order that the scheduler chooses; the caller
  // then waits, in real time, for its process. Not under ContextKind::parallel.
  void wait_outside();

  // The same, where the process speaks whatever other ranks do. In schedules of explorations it
  // returns at once: they choose at each call who comes first.
  void await_turn();

  // Whether another context could run now. (In a turn of its own, a context does not let them.)
  bool others_can_run() const noexcept;

  // This rank's handle of the gang with this key (none: its name) and the members of `info`. The
  // first member that asks for it makes it; not collective. Its collectives are numbered from
  // `first_sequence`. Throws InvalidArgument unless the ranks are different ones of this world, and
  // this one is among them.
  std::shared_ptr<Gang> gang_of(GangInfo info, const CallSite& call_site, std::string_view key = {},
                                std::uint64_t first_sequence = 0);

  // Blocks until `has_come()`, looking again after each announce(). Reports say that the rank waits
  // for `message`. Returns how that has ended, at `deadline` or before.
  Awaited await(const AwaitedMessage& message, const std::function<bool()>& has_come,
                TimePoint deadline = TimePoint::max());
  void announce();

  // What happens next depends on something that explorations do not choose.
  void note_choice();

  // At the beginning of a call that is not one of a gang: other ranks may run first.
  void begin_call();

  // When `timeout` from now is over. Does not count as a look at the clock.
  TimePoint deadline_after(Duration timeout) const noexcept;

  // A key that ranks share, as in a store.
  struct SharedKey {
    std::string_view name;
    std::uint64_t erasures = 0;  // how often it has been erased so far
  };
  // What such a call does to a key.
  enum class KeyUse : std::uint8_t {
    makes,      // it was not there, and others may wait for it
    changes,    // what others read depends on who comes first
    erases,     // it was there
    looks,      // what it reads depends on who comes first, even whether the key is there
    awaits,     // looks, to wait on if it is not there
    comes,      // has waited until it was made after so many erasures, and will look again
    finds,      // looks, and goes on: once it is there
    finds_out,  // the same, and reads it
    counts,     // what it reads depends on how many keys there are; the key is ignored
  };
  void note_key(const SharedKey& key, KeyUse use, const CallSite& call_site);
  // A call waits for both.
  void note_awaited_together(std::string_view key, std::string_view other);

  // What reports call the end of this rank's program, instead of "returned": "recording ends". The
  // text outlives the run.
  void end_as(std::string_view how) noexcept;

  // This rank's program ends in good order, but not at its last line: with `how`, "sys.exit". The
  // text outlives the run.
  void exit_by(std::string_view how, const CallSite& call_site) noexcept;

  // This rank fails because the process that ran its program has not ended well.
  [[noreturn]] void die(ProcessDeath death);

  // Adds to what the run finds. A message that begins with a small letter is what its ranks did,
  // "wrote to it.": all that did the same share a finding, which begins with them, "Ranks 0-3".
  void add_finding(Finding finding);

  // The parts of the run. For sim/ only, not for programs.
  World& world() noexcept;

 private:
  friend class Run;
  SimulatedRank(Run& run, int rank, std::shared_ptr<Gang> root, int incarnation);

  Run& run_;
  std::shared_ptr<Gang> root_;
  int rank_;
  int incarnation_;
  std::any state_;
};

using RankProgram = std::function<void(SimulatedRank&)>;

// Runs gang programs on simulated ranks. Simulations in one process are independent of each other.
//
// Threads: one run at a time per Simulation; different ones may run on different threads.
class Simulation {
 public:
  // Throws InvalidArgument for bad options.
  explicit Simulation(SimulationOptions options);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // Runs `program` once on every rank, from creation to verdict, and reports. Blocks. Errors of the
  // program go into the report; none is thrown (except std::bad_alloc of the simulator itself).
  // When it returns, every rank's stack has been unwound.
  Report run(const RankProgram& program);

  const SimulationOptions& options() const noexcept { return options_; }

 private:
  SimulationOptions options_;
};

}  // namespace gang::sim
