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

KeyStore::SharedKey KeyStore::shared(const std::string& key) const {
  const auto erased = erasures_.find(key);
  return {key, erased == erasures_.end() ? 0 : erased->second};
}

// Of each of its keys.
void KeyStore::note(KeyUse use, const StoreMessage& message, sim::SimulatedRank& rank) {
  if (use == KeyUse::makes || use == KeyUse::changes || use == KeyUse::erases) ++changes_;
  for (const std::string& key : message.keys) rank.note_key(shared(key), use, message.call_site);
}

// Waits for one key after the other, and looks for all of them again after each.
StoredMessage KeyStore::await_keys(const StoreMessage& message, sim::SimulatedRank& rank) {
  rank.begin_call();
  for (const std::string& key : message.keys)
    if (key != message.keys.front()) rank.note_awaited_together(message.keys.front(), key);
  const bool reads = message.function == StoreFunction::get;
  const bool is_look = message.timeout && *message.timeout <= Duration::zero();
  const TimePoint deadline =
      message.timeout ? rank.deadline_after(*message.timeout) : TimePoint::max();
  sim::Awaited awaited = is_look ? sim::Awaited::too_late : sim::Awaited::in_time;
  while (true) {
    const std::vector<std::string> missing = contents_.missing_of(message.keys);
    if (awaited != sim::Awaited::in_time)
      note(KeyUse::looks, message, rank);
    else if (!missing.empty())
      note(KeyUse::awaits, message, rank);
    else
      note(reads ? KeyUse::finds_out : KeyUse::finds, message, rank);
    if (missing.empty()) break;
    if (awaited == sim::Awaited::too_late) return timed_out(message);
    awaited = await_key(missing.front(), message, rank, deadline);
  }
  StoredMessage answer;
  if (reads) answer.values.push_back(*contents_.find(message.keys.front()));
  return answer;
}

// Until it has been made, even if it is erased again before the rank can look.
sim::Awaited KeyStore::await_key(const std::string& key, const StoreMessage& message,
                                 sim::SimulatedRank& rank, TimePoint deadline) {
  const KeyWait wait(message, rank, contents_);
  const SharedKey missing = shared(key);
  waits_[&message] = {rank.rank(), message.keys, message.call_site};
  const auto was_made = [&] {
    return contents_.has(key) || shared(key).erasures != missing.erasures;
  };
  const sim::Awaited awaited = rank.await(wait, was_made, deadline);
  waits_.erase(&message);
  if (awaited == sim::Awaited::in_time) rank.note_key(missing, KeyUse::comes, message.call_site);
  return awaited;
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
bool KeyStore::check(const StoreMessage& message, sim::SimulatedRank& rank) {
  const auto are_there = [&] {
    note(KeyUse::looks, message, rank);
    return contents_.missing_of(message.keys).empty();
  };
  if (are_there()) return true;
  rank.runtime().yield();
  return are_there();
}

void KeyStore::note_write(const StoreMessage& message, sim::SimulatedRank& rank) {
  const bool is_there = contents_.has(message.keys.front());
  if (!is_there) note(KeyUse::makes, message, rank);
  // Whoever sets it first, others wait until it is there; anything else shows who came first.
  const bool is_look = message.function == StoreFunction::add && message.number == 0;
  if (is_there || message.function != StoreFunction::set)
    note(is_look ? KeyUse::looks : KeyUse::changes, message, rank);
}

// Of a request that has changed nothing: whether it is one of a loop that asks until the answer is
// another one.
bool KeyStore::asks_in_vain(const StoreMessage& message, const StoredMessage& answer, int rank) {
  const bool may_be_asked_for_ever =
      (message.function == StoreFunction::add && message.number == 0) ||
      message.function == StoreFunction::compare_set || message.function == StoreFunction::erase ||
      message.function == StoreFunction::count;
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

std::int64_t KeyStore::erase(const StoreMessage& message, sim::SimulatedRank& rank) {
  const bool was_there = contents_.erase(message.keys.front());
  note(was_there ? KeyUse::erases : KeyUse::looks, message, rank);
  if (was_there) ++erasures_[message.keys.front()];
  return was_there ? 1 : 0;
}

StoredMessage KeyStore::perform(const StoreMessage& message, sim::SimulatedRank& rank) {
  if (message.function == StoreFunction::get || message.function == StoreFunction::wait)
    return await_keys(message, rank);
  rank.begin_call();
  const std::uint64_t changes_before = changes_;
  StoredMessage answer = perform_now(message, rank);
  if (changes_ != changes_before) {
    asked_.erase(rank.rank());
    return answer;
  }
  if (!asks_in_vain(message, answer, rank.rank())) return answer;
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
      answer.number = erase(message, rank);
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
      note(use, message, rank);
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
