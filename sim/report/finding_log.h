// The findings of a run, collected while it runs.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/report/report.h"

namespace gang::sim {

// Keeps one finding per root cause and lists consequences inside them.
class FindingLog {
 public:
  // Adds a finding and returns its index. If one with the same id, gang, operation, location and
  // message exists, adds the ranks to that one instead.
  std::size_t add(Finding finding);

  // The same for a finding about something ranks did, `predicate`: "dropped barrier #0." Its
  // message begins with all ranks that did it, "Ranks 0-3", and then is `of_several` if several did
  // it and that is another text.
  std::size_t add_of_ranks(Finding finding, std::string predicate, std::string of_several = {});

  // The same for what a rank may do at one line again and again, as in a loop: once the rank is
  // among those of a finding, another call of it at the same line only counts.
  std::size_t add_of_repeated_call(Finding finding, std::string predicate);

  // Adds a consequence of finding `index`; keeps the first few and counts the rest.
  void add_consequence(std::size_t index, std::string text);

  // The same for something a rank did, `predicate`; ranks that did it share one, "ranks 0-3 ...".
  void add_consequence_of(int rank, std::size_t index, std::string predicate);

  // Finding `index` has turned out to be a consequence of finding `cause`: it is removed, and its
  // consequences become those of `cause`, also later ones.
  void merge(std::size_t index, std::size_t cause);

  // Whether they are one finding by now.
  bool are_one(std::size_t a, std::size_t b) const { return place_of(a) == place_of(b); }

  // For adding details while the run continues; valid until the next finding is added.
  Finding& at(std::size_t index) { return findings_[place_of(index)]; }

  std::size_t size() const noexcept { return findings_.size(); }

  // The findings in the order in which they were made.
  std::vector<Finding> take();

 private:
  struct Consequence {
    std::string text;
    std::vector<int> ranks;  // the subject of the predicate; empty: a whole sentence
  };
  struct Consequences {
    std::vector<Consequence> first;
    std::size_t more = 0;
  };

  std::size_t place_of(std::size_t index) const;
  void tell_of_repetitions();

  std::vector<Finding> findings_;
  std::unordered_map<std::size_t, std::size_t> merged_into_;
  std::unordered_map<std::string, std::size_t> index_of_;  // by root cause
  std::vector<Consequences> consequences_;
  std::vector<std::string> predicates_of_several_;  // empty: its message has none
  struct Repeated {
    std::size_t finding;    // index
    std::size_t times = 0;  // after the first
  };
  std::map<std::pair<std::string, int>, Repeated> repeated_;  // by line and rank
};

}  // namespace gang::sim
