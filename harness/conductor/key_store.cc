#include "harness/conductor/key_store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/state/awaited_message.h"

namespace gang::harness {
namespace {

// What a rank waits for until another one sets the keys.
class KeyWait final : public sim::AwaitedMessage {
 public:
  KeyWait(const StoreMessage& message, const sim::SimulatedRank& rank,
          const StoreContents& contents)
      : message_(message), rank_(rank), contents_(contents) {}

  std::vector<int> awaited_ranks() const override {
    std::vector<int> ranks;
    for (int rank = 0; rank < rank_.world_size(); ++rank)
      if (rank != rank_.rank()) ranks.push_back(rank);
    return ranks;
  }
  bool takes_any() const override { return true; }
  const Collective* call() const override { return nullptr; }
  const GangInfo* gang() const override { return nullptr; }
  std::string describe() const override {
    const std::vector<std::string> missing = contents_.missing_of(message_.keys);
    return fmt::format("wait for the store's {} '{}'", missing.size() == 1 ? "key" : "keys",
                       fmt::join(missing, "', '"));
  }
  CallSite call_site() const override { return message_.call_site; }

 private:
  const StoreMessage& message_;
  const sim::SimulatedRank& rank_;
  const StoreContents& contents_;
};

}  // namespace

bool KeyStore::await(const StoreMessage& message, sim::SimulatedRank& rank) {
  const auto are_there = [&] { return contents_.missing_of(message.keys).empty(); };
  if (are_there()) return true;
  const KeyWait wait(message, rank, contents_);
  waits_[&message] = {rank.rank(), message.keys, message.call_site};
  if (message.timeout) rank.note_choice();
  const bool has_come = rank.await(wait, are_there, message.timeout);
  waits_.erase(&message);
  return has_come;
}

StoredMessage KeyStore::timed_out(const StoreMessage& message) const {
  const std::vector<std::string> missing = contents_.missing_of(message.keys);
  return {.status = Status::timeout,
          .error =
              fmt::format("the store's {} '{}' {} not set within {}",
                          missing.size() == 1 ? "key" : "keys", fmt::join(missing, "', '"),
                          missing.size() == 1 ? "was" : "were", gang::to_string(*message.timeout))};
}

std::vector<sim::Finding> KeyStore::unmet_waits() const {
  std::map<std::pair<std::vector<std::string>, SourceLocation>, std::vector<int>> ranks;
  for (const auto& [message, wait] : waits_)
    ranks[{contents_.missing_of(wait.keys), location_of(wait.call_site)}].push_back(wait.rank);
  std::vector<sim::Finding> findings;
  for (auto& [what, who] : ranks) {
    const auto& [keys, place] = what;
    std::ranges::sort(who);
    sim::Finding finding;
    finding.id = sim::finding_id::store_key_missing;
    finding.message = fmt::format("{} {} {} for the store's {} '{}', which no rank sets.",
                                  who.size() == 1 ? "Rank" : "Ranks", sim::to_rank_ranges(who),
                                  who.size() == 1 ? "waits" : "wait",
                                  keys.size() == 1 ? "key" : "keys", fmt::join(keys, "', '"));
    finding.ranks = std::move(who);
    finding.location = place;
    findings.push_back(std::move(finding));
  }
  return findings;
}

// A loop that asks for a key in vain must let the others go on.
bool KeyStore::check(const StoreMessage& message, sim::SimulatedRank& rank) const {
  if (!contents_.missing_of(message.keys).empty()) rank.runtime().yield();
  return contents_.missing_of(message.keys).empty();
}

StoredMessage KeyStore::perform(const StoreMessage& message, sim::SimulatedRank& rank) {
  StoredMessage answer;
  const std::string key = message.keys.empty() ? std::string() : message.keys.front();
  switch (message.function) {
    case StoreFunction::set:
      contents_.set(key, message.values.front());
      break;
    case StoreFunction::append:
      contents_.append(key, message.values.front());
      break;
    case StoreFunction::get:
      if (!await(message, rank)) return timed_out(message);
      answer.values.push_back(*contents_.find(key));
      return answer;
    case StoreFunction::wait:
      return await(message, rank) ? answer : timed_out(message);
    case StoreFunction::check:
      rank.note_choice();
      answer.number = check(message, rank) ? 1 : 0;
      return answer;
    case StoreFunction::count:
      rank.note_choice();
      answer.number = contents_.key_count();
      return answer;
    case StoreFunction::add: {
      rank.note_choice();
      const std::optional<std::int64_t> sum = contents_.add(key, message.number);
      if (!sum)
        return {.status = Status::invalid_argument,
                .error = fmt::format("add: the value of '{}' is not a decimal number", key)};
      answer.number = *sum;
      break;
    }
    case StoreFunction::erase:
      rank.note_choice();
      answer.number = contents_.erase(key) ? 1 : 0;
      break;
    case StoreFunction::compare_set: {
      const StoreContents::Bytes value =
          contents_.compare_set(key, message.values[0], message.values[1]);
      // Ranks that agree on the value see the same in any order.
      if (value != message.values[1]) rank.note_choice();
      answer.number = value == message.values[1] ? 1 : 0;
      answer.values.push_back(value);
      break;
    }
  }
  rank.announce();
  return answer;
}

}  // namespace gang::harness
