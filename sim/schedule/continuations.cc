#include "sim/schedule/continuations.h"

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "sim/schedule/context_name.h"
#include "sim/text/text_layout.h"

namespace gang::sim {
namespace {

// An access that is worth a line.
struct SaidAccess {
  std::size_t step = 0;
  TaskId task = 0;
  std::string_view verb;
  Access access;
};

bool is_of_mutex(const Access& access) noexcept {
  return access.kind == AccessKind::lock || access.kind == AccessKind::try_lock ||
         access.kind == AccessKind::unlock;
}

bool is_of_key(const Access& access) noexcept {
  return access.kind == AccessKind::key || access.kind == AccessKind::presence;
}

// What the ranks of a contest do in a run, in its order.
class Deeds {
 public:
  Deeds(const StepLog& log, const Contest& contest) : log_(log), contest_(contest) {
    for (const TakenByAny& taken : log.taken)
      if (is_of_contest(taken.rank) && !receives_from_any(taken.rank, taken.site))
        receives_[taken.rank].push_back(taken.site);
    for (std::size_t step = 0; step < log.choices.size(); ++step)
      for (const Access& access : log.accesses_of(step))
        if (is_of_contest(access.rank)) add(step, access);
  }

  std::vector<SaidAccess> all() && { return std::move(said_); }

 private:
  bool is_of_contest(int rank) const noexcept {
    return rank == contest_.first.rank || rank == contest_.second.rank ||
           (contest_.receive && rank == contest_.receive->rank);
  }

  void add(std::size_t step, const Access& access) {
    const std::string_view verb = log_.choices[step].is_pick ? "starts" : verb_of(access);
    if (verb.empty()) return;
    const SaidAccess said{step, log_.choices[step].task, verb, access};
    if (is_of_last_call(said)) {
      said_.back() = said;  // which says more
      return;
    }
    if (access.operation == 0) return said_.push_back(said);
    auto& of_operation = access.kind == AccessKind::look ? looks_ : calls_;
    const auto [before, is_new] = of_operation.try_emplace(access.operation, said_.size());
    if (is_new) return said_.push_back(said);
    SaidAccess& same = said_[before->second];
    if (access.kind == AccessKind::look) {
      if (same.step == step) return;
      before->second = said_.size();
      said_.push_back(said);
    } else if (same.verb == calls) {
      same.verb = verb;  // which says more
    }
  }

  // Whether it is what a call on a gang of a foreign backend does, or one to a store.
  bool is_of_last_call(const SaidAccess& said) const noexcept {
    if (said_.empty()) return false;
    const SaidAccess& last = said_.back();
    const bool is_same_call =
        (said.verb == launches && last.verb == calls) ||
        (is_of_key(said.access) && is_of_key(last.access) && said.step == last.step);
    return is_same_call && last.task == said.task && last.access.site == said.access.site;
  }

  // Empty: it is not worth a line.
  std::string_view verb_of(const Access& access) const {
    const bool writes = access.mode == AccessMode::write;
    switch (access.kind) {
      case AccessKind::message:
        return "sends";
      case AccessKind::arrival:
        return receives_from_any(access.rank, access.site) ? "receives" : calls;
      case AccessKind::call:
        return writes && access.site.line() == 0 ? "breaks the gang" : calls;
      case AccessKind::look:
        return access.mode == AccessMode::look ? "tests" : "";
      case AccessKind::lock:
        return writes ? "locks" : "";
      case AccessKind::try_lock:
        return "tries to lock";
      case AccessKind::unlock:
        return is_about_unlocking() ? "unlocks" : "";
      case AccessKind::wait:
        return "waits for a condition";
      case AccessKind::notification:
        return "notifies a condition";
      case AccessKind::key:
        return uses_key;
      case AccessKind::presence:
        return writes ? uses_key : "waits for a key";
      case AccessKind::device:
        return launches;
      case AccessKind::fault:
        return writes ? "meets its fault" : "";
    }
    return "";
  }

  bool receives_from_any(int rank, const CallSite& site) const {
    const auto sites = receives_.find(rank);
    return sites != receives_.end() &&
           std::ranges::find(sites->second, site) != sites->second.end();
  }

  bool is_about_unlocking() const noexcept {
    return contest_.first.kind == AccessKind::unlock || contest_.second.kind == AccessKind::unlock;
  }

  static constexpr std::string_view calls = "calls";
  static constexpr std::string_view launches = "launches";
  static constexpr std::string_view uses_key = "uses a key";

  const StepLog& log_;
  const Contest& contest_;
  std::map<int, std::vector<CallSite>> receives_;  // from any source: where, by rank
  std::vector<SaidAccess> said_;
  std::unordered_map<StepKey, std::size_t> calls_;  // by operation: where in said_
  std::unordered_map<StepKey, std::size_t> looks_;  // the last one of each
};

// Names mutexes where there are several: "mutex A".
class MutexNames {
 public:
  void note(std::span<const SaidAccess> said) {
    for (const SaidAccess& one : said)
      if (is_of_mutex(one.access) && number_of(one.access) == keys_.size())
        keys_.push_back(mutex_of(one.access));
  }

  std::string name(const Access& access) const {
    if (keys_.size() < 2) return "a mutex";
    const std::size_t number = number_of(access);
    return number < 26 ? fmt::format("mutex {}", static_cast<char>('A' + number))
                       : fmt::format("mutex {}", number + 1);
  }

 private:
  std::size_t number_of(const Access& access) const {
    return static_cast<std::size_t>(std::ranges::find(keys_, mutex_of(access)) - keys_.begin());
  }

  std::vector<StepKey> keys_;
};

std::string text_of(const StepLog& log, const SaidAccess& said, const MutexNames& mutexes) {
  const Access& access = said.access;
  std::string text(said.verb);
  if (is_of_mutex(access)) text += ' ' + mutexes.name(access);
  if (access.kind == AccessKind::message) {
    const auto taken = std::ranges::find(log.taken, access.operation, &TakenByAny::message);
    if (taken != log.taken.end()) text += fmt::format(" to {}", taken->rank);
  }
  if (access.site.line() != 0) text += fmt::format(" ({})", gang::to_string(access.site));
  return text;
}

std::span<const SaidAccess> shown_of(std::span<const SaidAccess> said) {
  return said.first(std::min(said.size(), Continuation::most_deeds));
}

Continuation continuation(const StepLog& log, std::span<const SaidAccess> said,
                          const MutexNames& mutexes) {
  Continuation made;
  const std::span<const SaidAccess> kept = shown_of(said);
  made.further = said.size() - kept.size();
  for (const SaidAccess& one : kept)
    made.deeds.push_back({to_string(context_name(log, one.task)), text_of(log, one, mutexes)});
  return made;
}

// Without those of the steps before `parting`, but for the last few.
std::span<const SaidAccess> around(std::span<const SaidAccess> said, std::size_t parting) {
  constexpr std::ptrdiff_t most_before = 2;
  const auto parted = std::ranges::lower_bound(said, parting, {}, &SaidAccess::step);
  return {parted - std::min(most_before, parted - said.begin()), said.end()};
}

// The first step that the runs make differently.
std::size_t parting_of(const StepLog& a, const StepLog& b) {
  const auto parted =
      std::ranges::mismatch(a.choices, b.choices, {}, &StepChoice::chosen, &StepChoice::chosen);
  return static_cast<std::size_t>(parted.in1 - a.choices.begin());
}

// The line `index` of a column.
std::pair<std::string, std::string> cells(const Continuation& continuation, std::size_t index) {
  const std::size_t size = continuation.deeds.size();
  if (index < size) return {continuation.deeds[index].context, continuation.deeds[index].did};
  if (index == size && continuation.further > 0)
    return {"", fmt::format("({} more)", continuation.further)};
  return {};
}

}  // namespace

Continuations continuations_of(const StepLog& found, const StepLog& otherwise,
                               const Contest& contest) {
  const std::size_t parting = parting_of(found, otherwise);
  if (parting >= found.choices.size() || parting >= otherwise.choices.size()) return {};
  const std::vector<SaidAccess> all_found = Deeds(found, contest).all();
  const std::vector<SaidAccess> all_otherwise = Deeds(otherwise, contest).all();
  const std::span<const SaidAccess> of_found = around(all_found, parting);
  const std::span<const SaidAccess> of_otherwise = around(all_otherwise, parting);
  MutexNames mutexes;
  mutexes.note(shown_of(of_found));
  mutexes.note(shown_of(of_otherwise));
  return {continuation(found, of_found, mutexes), continuation(otherwise, of_otherwise, mutexes)};
}

std::string to_text(const Continuations& continuations) {
  const auto& [found, otherwise] = continuations;
  if (found.deeds.empty() && otherwise.deeds.empty()) return "";
  std::vector<std::vector<std::string>> rows = {{"rank", "as found", "rank", "the other way"}};
  for (std::size_t i = 0;; ++i) {
    auto [left_rank, left] = cells(found, i);
    auto [right_rank, right] = cells(otherwise, i);
    if (left.empty() && right.empty()) break;
    rows.push_back(
        {std::move(left_rank), std::move(left), std::move(right_rank), std::move(right)});
  }
  rows.push_back({"", "→ " + found.end, "", "→ " + otherwise.end});
  return table(rows);
}

}  // namespace gang::sim
