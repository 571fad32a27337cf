// Programs with a planted bug, each with the finding that it must give and a corrected twin.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "gang/call_site.h"
#include "harness/program/program.h"

namespace gang::harness {

// What the ranks of a faulty program leave behind for the judge of the run, and for the next run.
// Threads: any.
class BugRecord {
 public:
  void mark(const CallSite& call_site);
  void keep(std::shared_ptr<Gang> gang);
  int count_up();

  // The marked calls of all runs so far, as reports name them: "messages.cc:41".
  std::set<std::string> locations() const;

 private:
  mutable std::mutex mutex_;
  std::set<std::string> locations_;
  std::vector<std::shared_ptr<Gang>> kept_;
  int count_ = 0;
};

// What the body of a faulty program knows about its bug.
class PlantedBug {
 public:
  PlantedBug(bool is_planted, BugRecord& record) noexcept
      : record_(record), is_planted_(is_planted) {}

  // Whether this run has the bug; false in the corrected twin.
  bool is_planted() const noexcept { return is_planted_; }

  // The call site of the call that this is an argument of. The finding must point at a call that
  // was marked so.
  CallSite here(CallSite call_site = CallSite::here()) const {
    record_.mark(call_site);
    return call_site;
  }

  // Keeps a gang alive after the run, as a cache of the process would.
  void keep(std::shared_ptr<Gang> gang) const { record_.keep(std::move(gang)); }

  // How often this was called before in this process: something a run must not depend on.
  int count_up() const { return record_.count_up(); }

 private:
  BugRecord& record_;
  bool is_planted_;
};

enum class ShownIn : std::uint8_t {
  every_schedule,
  some_schedules,  // a race: under the others the run has no findings
};

// A program with one planted bug and the finding that it must give. A value; copies share the
// record.
struct FaultyProgram {
  using Body = void(Rank&, const PlantedBug&);

  std::string name;         // at most 20 characters
  std::string description;  // at most 31
  // Where such a bug was seen: public reports, "pytorch#130102", or places in the sources of
  // fairseq2 at 027bdebca4b9, "fairseq2 trainer.py:599"; comma-separated; mostly empty.
  std::string seen_in = {};
  Body* body = nullptr;
  std::string_view finding;    // the only one that a run gives
  std::vector<int> ranks;      // that it names, in the default world
  int default_world_size = 4;  // runs with any multiple of `world_step` from `fewest_ranks` on
  int fewest_ranks = 2;
  int world_step = 1;
  std::map<std::string, std::string> options = {};  // of the run: execution, sends, ...
  ShownIn shown_in = ShownIn::every_schedule;
  std::shared_ptr<BugRecord> record = std::make_shared<BugRecord>();
};

// A program with these fields; `rest` holds the others.
FaultyProgram faulty(std::string name, std::string description, FaultyProgram::Body* body,
                     std::string_view finding, std::vector<int> ranks, FaultyProgram rest = {});

// The program to run; with the parameter fixed=true, its corrected twin.
Program to_program(const FaultyProgram& faulty);

}  // namespace gang::harness
