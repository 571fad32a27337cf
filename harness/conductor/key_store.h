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
    erasures_.clear();
    waits_.clear();
    asked_.clear();
  }

 private:
  using KeyUse = sim::SimulatedRank::KeyUse;
  using SharedKey = sim::SimulatedRank::SharedKey;

  SharedKey shared(const std::string& key) const;
  void note(KeyUse use, const StoreMessage& message, sim::SimulatedRank& rank);
  StoredMessage await_keys(const StoreMessage& message, sim::SimulatedRank& rank);
  sim::Awaited await_key(const std::string& key, const StoreMessage& message,
                         sim::SimulatedRank& rank, TimePoint deadline);
  StoredMessage perform_now(const StoreMessage& message, sim::SimulatedRank& rank);
  bool asks_in_vain(const StoreMessage& message, const StoredMessage& answer, int rank);
  std::int64_t erase(const StoreMessage& message, sim::SimulatedRank& rank);
  void note_write(const StoreMessage& message, sim::SimulatedRank& rank);
  StoredMessage timed_out(const StoreMessage& message) const;
  bool check(const StoreMessage& message, sim::SimulatedRank& rank);

  struct Wait {
    int rank = 0;
    std::vector<std::string> keys;
    CallSite call_site;
  };

  // A request whose answer others may change, and that answer.
  struct Asked {
    StoreFunction function = StoreFunction::set;
    std::vector<std::string> keys;
    std::vector<StoreContents::Bytes> values;
    std::int64_t number = 0;
    std::vector<StoreContents::Bytes> answers;

    friend bool operator==(const Asked&, const Asked&) = default;
  };

  StoreContents contents_;
  std::map<std::string, std::uint64_t> erasures_;  // by key
  std::uint64_t changes_ = 0;                      // of the contents
  std::map<const StoreMessage*, Wait> waits_;
  std::map<int, Asked> asked_;  // last, by rank
};

}  // namespace gang::harness
