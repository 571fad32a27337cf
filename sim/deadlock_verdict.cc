#include "sim/deadlock_verdict.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/engine.h"
#include "sim/failure.h"
#include "sim/matching.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_ranks_kept = 16;

constexpr std::string_view cross_gang_cycle = "cross_gang_cycle";
constexpr std::string_view point_to_point_cycle = "point_to_point_cycle";

// Builds the blocked calls and finds the first causes among them.
class Verdict {
 public:
  explicit Verdict(Engine& engine) : engine_(engine), tasks_(engine.blocked_tasks()) {}

  std::vector<BlockedCall> reach() {
    for (const Task* task : tasks_) blocked_.push_back(describe(*task));
    find_missing_participants();
    find_other_tags();
    if (engine_.findings().empty()) find_cycle();
    if (engine_.findings().empty()) add_plain_deadlock();
    return std::move(blocked_);
  }

 private:
  // Members that have not come to a slot, as root ranks; found once per slot.
  const std::vector<int>& missing_from(const GangState& gang, const MatchSlot& slot) {
    const auto [place, is_new] = missing_.try_emplace(&slot);
    if (is_new) {
      for (const int member : Matching::missing_members(slot))
        place->second.push_back(gang.root_rank_of(member));
      std::sort(place->second.begin(), place->second.end());
    }
    return place->second;
  }

  static const PendingOperation* pending_of(const Task& task) {
    for (const PendingOperation* pending : task.wait->operations)
      if (!Matching::has_ended(*pending)) return pending;
    return nullptr;
  }

  // The root ranks that an operation waits for.
  std::vector<int> awaited_by(const PendingOperation& pending) {
    if (pending.slot != nullptr) return missing_from(*pending.gang, *pending.slot);
    std::vector<int> ranks;
    const auto add = [&ranks, &pending](const Collective& call) {
      if (call.peer >= 0) ranks.push_back(pending.gang->root_rank_of(call.peer));
      if (call.peer == any_rank)
        for (int member = 0; member < pending.gang->size(); ++member)
          if (member != pending.member) ranks.push_back(pending.gang->root_rank_of(member));
    };
    if (pending.status == PendingStatus::launched) {
      const PendingOperation* ahead = pending.task->rank->stream->front();
      if (ahead != &pending) return awaited_by(*ahead);
    }
    if (!pending.entries) add(pending.call());
    if (pending.entries)
      for (const PendingOperation& entry : pending.entries->pendings)
        if (!entry.has_ended()) add(entry.call());
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
  }

  BlockedCall describe(const Task& task) {
    BlockedCall call;
    call.rank = task.rank->rank;
    if (task.further) call.context = task.further->name;
    if (const PendingOperation* pending = pending_of(task)) {
      call.gang = label_of(*pending->gang->info);
      call.operation = to_string(pending->call());
      call.location = to_string(pending->call().call_site);
      if (pending->deadline != TimePoint::max())
        call.would_time_out_after_ns =
            static_cast<std::uint64_t>((pending->deadline - engine_.now()).count());
      keep_waits(call, awaited_by(*pending));
    } else {
      describe_other(task, call);
    }
    return call;
  }

  static void describe_other(const Task& task, BlockedCall& call) {
    switch (task.wait->reason) {
      case Wait::Reason::join:
        call.operation = "join of " + task.wait->joined->further->name;
        return keep_waits(call, {task.rank->rank});
      case Wait::Reason::mutex:
        call.operation = "lock of a mutex";
        if (task.wait->holder != nullptr) keep_waits(call, {task.wait->holder->rank->rank});
        return;
      case Wait::Reason::condition:
        call.operation = "wait for a condition";
        return;
      case Wait::Reason::poll:
        call.operation = "poll that never succeeds";
        return;
      default:
        call.operation = "sleep";
        return;
    }
  }

  static void keep_waits(BlockedCall& call, const std::vector<int>& ranks) {
    call.waits_for_count = ranks.size();
    call.waits_for.assign(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                             ranks.size(), most_ranks_kept)));
  }

  bool has_returned(int rank) { return engine_.rank_state(rank).has_returned; }

  void find_missing_participants() {
    std::set<const MatchSlot*> seen;
    for (const Task* task : tasks_) {
      const PendingOperation* pending = pending_of(*task);
      if (pending == nullptr) continue;
      if (pending->slot != nullptr && !seen.insert(pending->slot).second) continue;
      std::vector<int> gone;
      for (const int rank : awaited_by(*pending))
        if (has_returned(rank)) gone.push_back(rank);
      const bool is_open_choice = pending->call().peer == any_rank && pending->slot == nullptr;
      if (gone.empty() ||
          (is_open_choice && gone.size() + 1 < static_cast<std::size_t>(pending->gang->size())))
        continue;
      add_missing(*pending, gone);
    }
  }

  void add_missing(const PendingOperation& pending, const std::vector<int>& gone) {
    Finding finding = finding_for(pending, finding_id::participant_missing);
    finding.ranks = gone;
    const bool is_one = gone.size() == 1;
    const std::uint64_t sequence = pending.call().sequence_number;
    const std::string call = pending.slot != nullptr
                                 ? finding.operation.substr(0, finding.operation.find(' ')) +
                                       fmt::format(" #{}", sequence)
                                 : fmt::format("what matches {}", finding.operation);
    finding.message = fmt::format("{} {} never called {} on {}", is_one ? "Rank" : "Ranks",
                                  to_rank_ranges(gone, 6), call, finding.gang);
    finding.message +=
        fmt::format(" ({} members): {} returned from {} program{}", pending.gang->size(),
                    is_one ? "it" : "they", is_one ? "its" : "their", is_one ? "" : "s");
    if (pending.slot != nullptr && sequence > 0)
      finding.message +=
          fmt::format(" after {} #{}", to_string(pending.gang->last_completed), sequence - 1);
    const std::size_t waiting = pending.slot != nullptr ? pending.slot->arrived : 1;
    finding.message += fmt::format(". {} for {}", ranks_wait(waiting), is_one ? "it" : "them");
    if (tasks_.size() > waiting)
      finding.message += fmt::format("; {} more for others", tasks_.size() - waiting);
    finding.message += ".";
    engine_.findings().add(std::move(finding));
  }

  static std::string ranks_wait(std::size_t count) {
    return count == 1 ? "1 rank waits" : fmt::format("{} ranks wait", count);
  }

  static Finding finding_for(const PendingOperation& pending, std::string_view id) {
    Finding finding;
    finding.id = id;
    finding.gang = label_of(*pending.gang->info);
    finding.operation = to_string(pending.call());
    finding.location = to_string(pending.call().call_site);
    return finding;
  }

  // A send and a receive that would meet if their tags were equal.
  void find_other_tags() {
    for (const GangState* gang : engine_.matching().gangs()) {
      if (!gang->mailboxes) continue;
      for (const Mailbox& mailbox : *gang->mailboxes)
        for (const PendingOperation* receive : mailbox.receives)
          for (const PendingOperation* send : mailbox.sends)
            if (receive->call().peer == send->member) add_other_tag(*gang, *send, *receive);
    }
  }

  void add_other_tag(const GangState& gang, const PendingOperation& send,
                     const PendingOperation& receive) {
    Finding finding = finding_for(receive, finding_id::mismatch_tag);
    finding.ranks = {gang.root_rank_of(send.member), gang.root_rank_of(receive.member)};
    finding.message = fmt::format(
        "Rank {} sends with tag {} at {}; rank {} receives from it with tag {} at {}. They would "
        "meet if the tags were equal.",
        finding.ranks[0], send.call().tag, to_string(send.call().call_site), finding.ranks[1],
        receive.call().tag, finding.location);
    engine_.findings().add(std::move(finding));
  }

  // Follows, from each rank once, the first rank that it waits for.
  void find_cycle() {
    std::unordered_map<int, std::size_t> call_of_rank;
    for (std::size_t i = 0; i < blocked_.size(); ++i)
      if (blocked_[i].context.empty()) call_of_rank.emplace(blocked_[i].rank, i);
    std::unordered_map<int, int> seen_in;  // rank: the walk that came by
    for (std::size_t walk = 0; walk < blocked_.size(); ++walk) {
      std::vector<int> path;
      int rank = blocked_[walk].rank;
      while (call_of_rank.contains(rank) && seen_in.emplace(rank, walk).second) {
        path.push_back(rank);
        const BlockedCall& call = blocked_[call_of_rank[rank]];
        if (call.waits_for.empty()) break;
        rank = call.waits_for.front();
      }
      const auto begin = std::find(path.begin(), path.end(), rank);
      if (begin == path.end() || std::next(begin) == path.end()) continue;
      return add_cycle({begin, path.end()}, call_of_rank);
    }
  }

  void add_cycle(const std::vector<int>& cycle,
                 const std::unordered_map<int, std::size_t>& call_of_rank) {
    std::set<std::string> gangs;
    bool only_messages = true;
    for (const int rank : cycle) {
      const Task& task = *tasks_[call_of_rank.at(rank)];
      const PendingOperation* pending = pending_of(task);
      if (pending == nullptr) return;
      gangs.insert(label_of(*pending->gang->info));
      only_messages = only_messages && is_point_to_point(pending->call().kind);
    }
    Finding finding = finding_for(*pending_of(*tasks_[call_of_rank.at(cycle.front())]),
                                  only_messages      ? point_to_point_cycle
                                  : gangs.size() > 1 ? cross_gang_cycle
                                                     : finding_id::deadlock);
    finding.ranks = cycle;
    std::string path;
    for (const int rank : cycle) path += fmt::format("{} → ", rank);
    finding.message = fmt::format("{}: {}{}.",
                                  only_messages ? "Each rank's message waits for the next rank"
                                                : orders_of(cycle, call_of_rank),
                                  path, cycle.front());
    engine_.findings().add(std::move(finding));
  }

  // Who is in which gang, while the others wait for them in another.
  std::string orders_of(const std::vector<int>& cycle,
                        const std::unordered_map<int, std::size_t>& call_of_rank) {
    std::map<std::string, std::vector<int>> ranks_in;
    for (const int rank : cycle)
      ranks_in[pending_of(*tasks_[call_of_rank.at(rank)])->gang->info->name].push_back(rank);
    if (ranks_in.size() != 2)
      return "Ranks call their gangs in different orders; each waits for the next";
    auto& [one, in_one] = *ranks_in.begin();
    auto& [other, in_other] = *std::next(ranks_in.begin());
    std::sort(in_one.begin(), in_one.end());
    std::sort(in_other.begin(), in_other.end());
    const auto who = [](const std::vector<int>& ranks) {
      return fmt::format("{} {}", ranks.size() == 1 ? "ank" : "anks", to_rank_ranges(ranks, 6));
    };
    return fmt::format(
        "R{} called {} before {}; r{} did it the other way round. Each waits for the next",
        who(in_one), one, other, who(in_other));
  }

  void add_plain_deadlock() {
    Finding finding;
    finding.id = finding_id::deadlock;
    for (const BlockedCall& call : blocked_)
      if (finding.ranks.empty() || finding.ranks.back() != call.rank)
        finding.ranks.push_back(call.rank);
    if (!blocked_.empty()) {
      finding.gang = blocked_.front().gang;
      finding.operation = blocked_.front().operation;
      finding.location = blocked_.front().location;
    }
    finding.message =
        fmt::format("Ranks {} wait for each other for ever.", to_rank_ranges(finding.ranks, 6));
    engine_.findings().add(std::move(finding));
  }

  Engine& engine_;
  std::vector<const Task*> tasks_;
  std::vector<BlockedCall> blocked_;  // of tasks_, in the same order
  std::unordered_map<const MatchSlot*, std::vector<int>> missing_;
};

}  // namespace

std::vector<BlockedCall> report_deadlock(Engine& engine) { return Verdict(engine).reach(); }

}  // namespace gang::sim
