// Programs that are wrong on purpose, each with what must be found in it and with its correction.
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

// What the ranks of a faulty program leave behind for those who judge the run, and for the next
// run. Threads: any.
class FaultRecord {
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

// What the body of a faulty program knows of its fault.
class Fault {
 public:
  Fault(bool is_planted, FaultRecord& record) noexcept : record_(record), is_planted_(is_planted) {}

  // Whether this run goes wrong; false: it is the corrected one.
  bool is_planted() const noexcept { return is_planted_; }

  // The place of the call that this is an argument of: what the finding must point at or, of
  // several such calls, may.
  CallSite here(CallSite call_site = CallSite::here()) const {
    record_.mark(call_site);
    return call_site;
  }

  // Holds on to a gang after the run, as a cache of the process would.
  void keep(std::shared_ptr<Gang> gang) const { record_.keep(std::move(gang)); }

  // How often this was asked in this process before: what a run must not depend on.
  int count_up() const { return record_.count_up(); }

 private:
  FaultRecord& record_;
  bool is_planted_;
};

enum class ShownIn : std::uint8_t {
  every_schedule,
  some_schedules,  // a race: in the others the run is without findings
};

// A program with one fault and what must be found in it. A value; copies share the record.
struct FaultyProgram {
  std::string name;         // at most 20 characters
  std::string description;  // at most 31
  // Where such a case was seen: public reports, "pytorch#130102", or places in the sources of
  // fairseq2 at 027bdebca4b9, "fairseq2 trainer.py:599"; several with commas; mostly empty.
  std::string seen_in = {};
  void (*body)(Rank&, const Fault&) = nullptr;
  std::string_view finding;    // the only one
  std::vector<int> ranks;      // that it names, in the default world
  int default_world_size = 4;  // runs with any multiple of `world_step` from `fewest_ranks` on
  int fewest_ranks = 2;
  int world_step = 1;
  std::map<std::string, std::string> options = {};  // of the run: execution, sends, ...
  ShownIn shown_in = ShownIn::every_schedule;
  std::shared_ptr<FaultRecord> record = std::make_shared<FaultRecord>();
};

// The program to run: with the parameter fixed=true it is the corrected twin.
Program to_program(const FaultyProgram& faulty);

}  // namespace gang::harness
