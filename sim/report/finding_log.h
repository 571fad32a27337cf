// The findings of a run as they are made.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/report/report.h"

namespace gang::sim {

// Keeps one finding per root cause and lists consequences inside them.
class FindingLog {
 public:
  // Adds a finding and returns its index. One with the same id, gang, operation, location and
  // message takes in further ranks instead.
  std::size_t add(Finding finding);

  // The same for a finding about what ranks did, `predicate`: "dropped barrier #0." Its message
  // begins with those of them who did the same, "Ranks 0-3".
  std::size_t add_of_ranks(Finding finding, std::string predicate);

  // Notes a consequence of finding `index`; only the first few are kept, the rest are counted.
  void add_consequence(std::size_t index, std::string text);

  // The same for what a rank did, `predicate`: ranks that did the same share one, "ranks 0-3 ...".
  void add_consequence_of(int rank, std::size_t index, std::string predicate);

  // To be completed while the run goes on; valid until the next finding is added.
  Finding& at(std::size_t index) { return findings_[index]; }

  std::size_t size() const noexcept { return findings_.size(); }

  // The findings in the order in which they were made.
  std::vector<Finding> take();

 private:
  struct Consequence {
    std::string text;
    std::vector<int> ranks;  // whom it is a predicate of; empty: it is a sentence
  };
  struct Consequences {
    std::vector<Consequence> first;
    std::size_t more = 0;
  };

  std::vector<Finding> findings_;
  std::unordered_map<std::string, std::size_t> index_of_;  // by root cause
  std::vector<Consequences> consequences_;
  std::vector<bool> is_of_ranks_;  // whether its message is a predicate
};

}  // namespace gang::sim
