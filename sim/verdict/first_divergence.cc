#include "sim/verdict/first_divergence.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "sim/engine/engine.h"
#include "sim/matching/sim_gang.h"
#include "sim/state/world.h"
#include "sim/text/text_layout.h"
#include "sim/verdict/blocked_world.h"
#include "sim/verdict/finding_text.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_entries = 8;

// Of a rank that is blocked in nothing: it may have just been told of a failure.
std::string running_text(const RankState& rank) {
  for (const SimGang* gang = rank.gangs; gang != nullptr; gang = gang->next_of_rank())
    if (gang->state()->broken) return "failing on " + gang->state()->label();
  return "running";
}

std::string_view file_of(const CallSite& call_site) noexcept {
  return call_site.file == nullptr ? std::string_view() : std::string_view(call_site.file);
}

// Members that did the same.
class Groups {
 public:
  Groups(const World& world, const GangState& gang)
      : world_(world),
        gang_(gang),
        departures_(departures_by_member(gang)),
        counts_form_(world.options.strict_blocking) {}

  void add_call(const PendingOperation& pending) {
    const Collective& call = pending.call();
    add(pending.member,
        {static_cast<int>(call.kind), static_cast<int>(call.data_type),
         static_cast<int>(call.reduce_operation), call.peer, call.count, call.detail,
         counts_form_ && call.blocking, call.label, file_of(call.call_site), call.call_site.line},
        [this, &pending, &call] {
          CallSummary summary = summary_of(pending);
          summary.ranks.clear();
          if (counts_form_) summary.note = pending.call().blocking ? "blocking" : "started";
          if (call.kind == OperationKind::create_gang)
            summary.note = "ranks " + rank_list_text(pending.operation->ranks);
          return summary;
        });
  }

  void add_absence(int member) {
    const RankState& rank = world_.rank(gang_.root_rank_of(member));
    const Task& program = world_.engine.contexts().program_of(rank.rank);
    Key key;
    std::get<0>(key) = -1;
    if (program.is_done) {
      std::get<1>(key) = rank.has_failed ? 2 : 1;
      if (const Departure* departure = departures_[static_cast<std::size_t>(member)]) {
        std::get<8>(key) = file_of(departure->call_site);
        std::get<9>(key) = departure->call_site.line;
      }
    } else if (const PendingOperation* pending = BlockedWorld::operation_of(program)) {
      const bool is_collective = pending->slot != nullptr;
      std::get<1>(key) = 3;
      std::get<8>(key) = file_of(pending->call().call_site);
      std::get<9>(key) = pending->call().call_site.line;
      std::get<4>(key) = is_collective ? pending->gang->index : std::int64_t{-1} - member;
    } else {
      std::get<1>(key) = 4;
      std::get<7>(key) = notes_.emplace_back(absence_of(member, rank, program).note);
    }
    add(member, key, [&] { return absence_of(member, rank, program); });
  }

  // The most members first.
  std::vector<CallSummary> take() {
    sort_groups();
    if (groups_.size() > most_entries) merge_peers();
    if (groups_.size() > most_entries) merge_rest();
    return std::move(groups_);
  }

 private:
  void sort_groups() {
    for (CallSummary& group : groups_) std::sort(group.ranks.begin(), group.ranks.end());
    std::sort(groups_.begin(), groups_.end(), [](const CallSummary& a, const CallSummary& b) {
      return a.ranks.size() != b.ranks.size() ? a.ranks.size() > b.ranks.size() : a.ranks < b.ranks;
    });
  }

  // What tells two calls apart, texts by content.
  using Key = std::tuple<int, int, int, int, std::int64_t, std::uint64_t, bool, std::string_view,
                         std::string_view, std::uint32_t>;

  template <typename Describe>
  void add(int member, const Key& key, const Describe& describe) {
    if (groups_.empty() || key != last_key_) {
      const auto [place, is_new] = places_.try_emplace(key, groups_.size());
      if (is_new) groups_.push_back(describe());
      last_key_ = key;
      last_ = place->second;
    }
    groups_[last_].ranks.push_back(gang_.root_rank_of(member));
  }

  CallSummary absence_of(int member, const RankState& rank, const Task& program) const {
    CallSummary summary;
    if (program.is_done) {
      summary.note = rank.has_failed ? "ended with an exception" : "returned";
      if (const Departure* departure = departures_[static_cast<std::size_t>(member)])
        summary.location = to_string(departure->call_site);
    } else if (has_launched(rank, gang_)) {
      const PendingOperation& ahead = *rank.stream->front();
      summary.note = fmt::format("queued it on a stream behind {} on {}", to_string(ahead.call()),
                                 ahead.gang->label());
      summary.location = to_string(ahead.call().call_site);
    } else if (const PendingOperation* pending = BlockedWorld::operation_of(program)) {
      const PendingOperation& ahead = held_up_by(*pending);
      summary.note = "blocked in " + describe_wait(program);
      if (&ahead != pending) summary.note += " behind " + to_string(ahead.call());
      summary.location = to_string(ahead.call().call_site);
    } else {
      summary.note = program.is_frozen         ? std::string(rank.frozen_as)
                     : program.wait == nullptr ? running_text(rank)
                                               : "in a " + describe_wait(program);
    }
    return summary;
  }

  // Makes one of those who are blocked in messages that differ in the rank at their other end.
  void merge_peers() {
    std::map<std::tuple<std::string, std::string, std::string>, std::size_t> places;
    std::vector<CallSummary> merged;
    for (CallSummary& group : groups_) {
      const std::string note = with_any_peer(group.note);
      const auto [place, is_new] =
          places.try_emplace({group.gang + group.operation, group.location, note}, merged.size());
      if (is_new) {
        merged.push_back(std::move(group));
        continue;
      }
      CallSummary& known = merged[place->second];
      known.note = note;
      known.ranks.insert(known.ranks.end(), group.ranks.begin(), group.ranks.end());
    }
    groups_ = std::move(merged);
    sort_groups();
  }

  void merge_rest() {
    CallSummary& rest = groups_[most_entries - 1];
    const std::size_t merged = groups_.size() - most_entries + 1;
    for (std::size_t i = most_entries; i < groups_.size(); ++i)
      rest.ranks.insert(rest.ranks.end(), groups_[i].ranks.begin(), groups_[i].ranks.end());
    std::sort(rest.ranks.begin(), rest.ranks.end());
    rest.gang = rest.operation = rest.location = "";
    rest.note = fmt::format("{} other calls", merged);
    groups_.resize(most_entries);
  }

  const World& world_;
  const GangState& gang_;
  const std::vector<const Departure*> departures_;
  const bool counts_form_;
  std::vector<CallSummary> groups_;
  std::map<Key, std::size_t> places_;
  std::deque<std::string> notes_;  // that keys are about
  Key last_key_;
  std::size_t last_ = 0;
};

}  // namespace

std::vector<const Departure*> departures_by_member(const GangState& gang) {
  std::vector<const Departure*> by_member(static_cast<std::size_t>(gang.size()), nullptr);
  for (const Departure& departure : gang.departures)
    by_member[static_cast<std::size_t>(departure.member)] = &departure;
  return by_member;
}

CallSummary last_common_call(const GangState& gang, const Collective& next) {
  CallSummary summary;
  if (is_point_to_point(next.kind) || next.sequence_number == 0 ||
      gang.last_call.sequence_number + 1 != next.sequence_number)
    return summary;
  summary.ranks = gang.info->root_ranks;
  std::sort(summary.ranks.begin(), summary.ranks.end());
  summary.gang = gang.label();
  summary.operation = to_string(gang.last_call);
  summary.location = to_string(gang.last_call.call_site);
  return summary;
}

Divergence first_divergence(const World& world, const GangState& gang,
                            std::span<PendingOperation* const> members) {
  Divergence divergence;
  Groups groups(world, gang);
  for (std::size_t member = 0; member < members.size(); ++member) {
    if (members[member] == nullptr) {
      groups.add_absence(static_cast<int>(member));
      continue;
    }
    groups.add_call(*members[member]);
    if (divergence.last_common.ranks.empty())
      divergence.last_common = last_common_call(gang, members[member]->call());
  }
  divergence.next = groups.take();
  return divergence;
}

}  // namespace gang::sim
