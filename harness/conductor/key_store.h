// The store of a run: keys and values that its processes share.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gang/store/store_contents.h"
#include "harness/conductor/messages.h"
#include "sim/simulation.h"

namespace gang::harness {

// A rank that waits for a key is blocked, and reports say for which and where.
class KeyStore {
 public:
  // Does what the rank asks for; blocks its context until the keys that it waits for exist, or
  // until the request's timeout has passed, in virtual time.
  StoredMessage perform(const StoreMessage& message, sim::SimulatedRank& rank);

  // The waits that the end of a run has interrupted, a finding for each key.
  std::vector<sim::Finding> unmet_waits() const;

  void clear() {
    contents_ = StoreContents();
    waits_.clear();
  }

 private:
  bool await(const StoreMessage& message, sim::SimulatedRank& rank);
  StoredMessage timed_out(const StoreMessage& message) const;
  bool check(const StoreMessage& message, sim::SimulatedRank& rank) const;

  struct Wait {
    int rank = 0;
    std::vector<std::string> keys;
    CallSite call_site;
  };

  StoreContents contents_;
  std::map<const StoreMessage*, Wait> waits_;
};

}  // namespace gang::harness
