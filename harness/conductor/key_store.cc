#include "harness/conductor/key_store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/state/awaited_message.h"

namespace gang::harness {
namespace {

// As the program knows a key: a client may keep several stores apart by what comes before a zero.
std::string shown(const std::string& key) {
  const auto zero = std::find(key.rbegin(), key.rend(), '\0');
  return {zero.base(), key.end()};
}

// "key 'a'", "keys 'a', 'b'".
std::string keys_text(std::vector<std::string> keys) {
  std::ranges::transform(keys, keys.begin(), shown);
  return fmt::format("{} '{}'", keys.size() == 1 ? "key" : "keys", fmt::join(keys, "', '"));
}

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
    return fmt::format("wait for the store's {}", keys_text(contents_.missing_of(message_.keys)));
  }
  CallSite call_site() const override { return message_.call_site; }

 private:
  const StoreMessage& message_;
  const sim::SimulatedRank& rank_;
  const StoreContents& contents_;
};

}  // namespace

// Until its keys are there, such a call does nothing that another rank could see.
StoredMessage KeyStore::await_keys(const StoreMessage& message, sim::SimulatedRank& rank) {
  const auto are_there = [&] { return contents_.missing_of(message.keys).empty(); };
  const bool is_look = message.timeout && *message.timeout <= Duration::zero();
  if (is_look || are_there()) rank.begin_call();
  sim::Awaited awaited = is_look ? sim::Awaited::in_last_instant : sim::Awaited::in_time;
  while (!are_there()) {
    const KeyWait wait(message, rank, contents_);
    waits_[&message] = {rank.rank(), message.keys, message.call_site};
    awaited = rank.await(wait, are_there, message.timeout);
    waits_.erase(&message);
    if (awaited == sim::Awaited::too_late) break;
  }
  const bool reads = message.function == StoreFunction::get;
  const KeyUse use_in_time = reads ? KeyUse::reads : KeyUse::awaits;
  for (const std::string& key : message.keys)
    rank.note_key(key, awaited == sim::Awaited::in_time ? use_in_time : KeyUse::looks,
                  message.call_site);
  if (awaited == sim::Awaited::too_late) return timed_out(message);
  StoredMessage answer;
  if (reads) answer.values.push_back(*contents_.find(message.keys.front()));
  return answer;
}

StoredMessage KeyStore::timed_out(const StoreMessage& message) const {
  const std::vector<std::string> missing = contents_.missing_of(message.keys);
  return {.status = Status::timeout,
          .error =
              fmt::format("the store's {} {} not set within {}", keys_text(missing),
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
    finding.message = fmt::format("{} {} {} for the store's {}, which no rank sets.",
                                  who.size() == 1 ? "Rank" : "Ranks", sim::to_rank_ranges(who),
                                  who.size() == 1 ? "waits" : "wait", keys_text(keys));
    finding.ranks = std::move(who);
    finding.location = place;
    findings.push_back(std::move(finding));
  }
  return findings;
}

// A loop that asks for a key in vain must let the others go on.
bool KeyStore::check(const StoreMessage& message, sim::SimulatedRank& rank) const {
  const auto are_there = [&] {
    for (const std::string& key : message.keys)
      rank.note_key(key, KeyUse::looks, message.call_site);
    return contents_.missing_of(message.keys).empty();
  };
  if (are_there()) return true;
  rank.runtime().yield();
  return are_there();
}

void KeyStore::note_write(const StoreMessage& message, sim::SimulatedRank& rank) const {
  const std::string& key = message.keys.front();
  const bool is_there = contents_.has(key);
  if (!is_there) rank.note_key(key, KeyUse::makes, message.call_site);
  // Whoever sets it first, others wait until it is there; anything else shows who came first.
  const bool is_look = message.function == StoreFunction::add && message.number == 0;
  if (is_there || message.function != StoreFunction::set)
    rank.note_key(key, is_look ? KeyUse::looks : KeyUse::changes, message.call_site);
}

// Whether it is one of a loop that asks until the answer is another one.
bool KeyStore::asks_again(const StoreMessage& message, const StoredMessage& answer, int rank) {
  const bool may_be_asked_for_ever =
      (message.function == StoreFunction::add && message.number == 0) ||
      message.function == StoreFunction::compare_set || message.function == StoreFunction::count;
  if (!may_be_asked_for_ever) {
    asked_.erase(rank);
    return false;
  }
  Asked now{message.function, message.keys, message.values, answer.number, answer.values};
  Asked& before = asked_[rank];
  if (before == now) return true;
  before = std::move(now);
  return false;
}

StoredMessage KeyStore::perform(const StoreMessage& message, sim::SimulatedRank& rank) {
  if (message.function == StoreFunction::get || message.function == StoreFunction::wait)
    return await_keys(message, rank);
  rank.begin_call();
  StoredMessage answer = perform_now(message, rank);
  if (!asks_again(message, answer, rank.rank())) return answer;
  rank.runtime().yield();  // the others must go on
  return perform_now(message, rank);
}

StoredMessage KeyStore::perform_now(const StoreMessage& message, sim::SimulatedRank& rank) {
  StoredMessage answer;
  const std::string key = message.keys.empty() ? std::string() : message.keys.front();
  switch (message.function) {
    case StoreFunction::set:
      note_write(message, rank);
      contents_.set(key, message.values.front());
      break;
    case StoreFunction::append:
      note_write(message, rank);
      contents_.append(key, message.values.front());
      break;
    case StoreFunction::check:
      answer.number = check(message, rank) ? 1 : 0;
      return answer;
    case StoreFunction::count:
      rank.note_key({}, KeyUse::counts, message.call_site);
      answer.number = contents_.key_count();
      return answer;
    case StoreFunction::add: {
      note_write(message, rank);
      const std::optional<std::int64_t> sum = contents_.add(key, message.number);
      if (!sum)
        return {.status = Status::invalid_argument,
                .error = fmt::format("add: the value of '{}' is not a decimal number", shown(key))};
      answer.number = *sum;
      break;
    }
    case StoreFunction::erase:
      rank.note_choice();
      answer.number = contents_.erase(key) ? 1 : 0;
      break;
    case StoreFunction::compare_set: {
      const auto& expected = message.values[0];
      const auto& desired = message.values[1];
      const StoreContents::Bytes* const before = contents_.find(key);
      const bool was_there = before != nullptr;
      const bool was_as_wanted = was_there && *before == desired;
      const StoreContents::Bytes value = contents_.compare_set(key, expected, desired);
      const bool is_as_wanted = value == desired;
      KeyUse use = KeyUse::changes;
      if (!was_there && contents_.has(key))
        use = KeyUse::makes;
      else if (was_as_wanted || !is_as_wanted)
        use = KeyUse::looks;
      rank.note_key(key, use, message.call_site);
      answer.number = is_as_wanted ? 1 : 0;
      answer.values.push_back(value);
      break;
    }
    case StoreFunction::get:
    case StoreFunction::wait:
      break;
  }
  rank.announce();
  return answer;
}

}  // namespace gang::harness
