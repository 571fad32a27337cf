#include "sim/verdict/first_divergence.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "sim/engine/engine.h"
#include "sim/matching/sim_gang.h"
#include "sim/state/world.h"
#include "sim/verdict/blocked_world.h"
#include "sim/verdict/finding_text.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_entries = 8;

// The state of a rank that is not blocked: a failure may have just reached it.
std::string running_text(const RankState& rank) {
  for (const SimGang* gang = rank.gangs; gang != nullptr; gang = gang->next_of_rank())
    if (gang->state()->broken) return "failing on " + gang->state()->label();
  return "running";
}

// Members that did the same.
class Groups {
 public:
  Groups(const World& world, const GangState& gang)
      : world_(world), gang_(gang), counts_form_(world.options.strict_blocking) {}

  void add_call(const PendingOperation& pending) {
    const Collective& call = pending.call();
    add(pending.member,
        {static_cast<int>(call.kind), static_cast<int>(call.data_type),
         static_cast<int>(call.reduce_operation), call.peer, call.count, call.detail,
         counts_form_ && call.blocking, call.label, call.call_site.file(), call.call_site.line()},
        [this, &pending, &call] {
          Group group{summary_of(pending), {}};
          group.summary.ranks.clear();
          std::string& note = group.summary.note;
          if (counts_form_) note = pending.call().blocking ? "blocking" : "started";
          if (call.kind == OperationKind::create_gang)
            note = "ranks " + rank_list_text(pending.operation->extras->ranks);
          group.any_peer_note = note;
          return group;
        });
  }

  void add_absence(int member) {
    const RankState& rank = world_.rank(gang_.root_rank_of(member));
    const Task& program = world_.engine.contexts().program_of(rank.rank);
    Key key;
    std::get<0>(key) = -1;
    if (program.is_done) {
      std::get<1>(key) = rank.has_failed ? 2 : 1;
      if (rank.has_failed)
        std::get<7>(key) = notes_.emplace_back(rank.failure());
      else
        std::get<7>(key) =
            rank.rare().ended_as.empty() ? rank.rare().exited_by : rank.rare().ended_as;
      if (const CallSite* left_at = place_of_leaving(member, rank)) {
        std::get<8>(key) = left_at->file();
        std::get<9>(key) = left_at->line();
      }
    } else if (const PendingOperation* pending = BlockedWorld::operation_of(program)) {
      const bool is_collective = pending->slot != nullptr;
      std::get<1>(key) = 3;
      std::get<8>(key) = pending->call().call_site.file();
      std::get<9>(key) = pending->call().call_site.line();
      std::get<4>(key) = is_collective ? pending->gang->index : std::int64_t{-1} - member;
    } else {
      std::get<1>(key) = 4;
      std::get<7>(key) = notes_.emplace_back(absence_of(member, rank, program).summary.note);
    }
    add(member, key, [&] { return absence_of(member, rank, program); });
  }

  // The most members first.
  std::vector<CallSummary> take() {
    sort_groups();
    if (groups_.size() > most_entries) merge_peers();
    if (groups_.size() > most_entries) merge_rest();
    std::vector<CallSummary> taken;
    for (Group& group : groups_) taken.push_back(std::move(group.summary));
    return taken;
  }

 private:
  struct Group {
    CallSummary summary;
    std::string any_peer_note;  // its note, whoever is at the other end of a message
  };

  void sort_groups() {
    for (Group& group : groups_) std::sort(group.summary.ranks.begin(), group.summary.ranks.end());
    std::sort(groups_.begin(), groups_.end(), [](const Group& one, const Group& other) {
      const auto& a = one.summary.ranks;
      const auto& b = other.summary.ranks;
      return a.size() != b.size() ? a.size() > b.size() : a < b;
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
    groups_[last_].summary.ranks.push_back(gang_.root_rank_of(member));
  }

  // Where its program ended or, if that is not known, let go of the gang; null: neither is.
  const CallSite* place_of_leaving(int member, const RankState& rank) const {
    if (!rank.has_failed && !rank.rare().exited_by.empty()) return &rank.rare().exited_at;
    const Departure* departure = gang_.departure_of(member);
    return departure == nullptr ? nullptr : &departure->call_site;
  }

  Group absence_of(int member, const RankState& rank, const Task& program) const {
    CallSummary summary;
    if (program.is_done) {
      const RareRankState& rare = rank.rare();
      summary.note = rank.has_failed           ? rank.failure()
                     : !rare.ended_as.empty()  ? std::string(rare.ended_as)
                     : !rare.exited_by.empty() ? fmt::format("ended with {}", rare.exited_by)
                                               : "returned";
      if (const CallSite* left_at = place_of_leaving(member, rank))
        summary.location = location_of(*left_at);
    } else if (has_launched(rank, gang_)) {
      const PendingOperation& ahead = *rank.rare().stream->front();
      summary.note =
          fmt::format("queued it on a stream behind {} on {}",
                      to_string(describe(ahead.call(), *ahead.gang->info)), ahead.gang->label());
      summary.location = location_of(ahead.call().call_site);
    } else if (const PendingOperation* pending = BlockedWorld::operation_of(program)) {
      const PendingOperation& ahead = held_up_by(*pending);
      summary.location = location_of(ahead.call().call_site);
      summary.note = blocked_text(*pending, ahead, [](CallText call) { return call; });
      return {std::move(summary), blocked_text(*pending, ahead, with_any_peer)};
    } else {
      summary.note = program.is_frozen         ? std::string(rank.rare().frozen_as)
                     : program.wait == nullptr ? running_text(rank)
                                               : "in a " + to_string(describe_wait(program).call);
    }
    std::string note = summary.note;
    return {std::move(summary), std::move(note)};
  }

  // "blocked in pp[0,1] send f32[4] to rank 1", with what is ahead of it on its stream.
  template <typename Change>
  static std::string blocked_text(const PendingOperation& pending, const PendingOperation& ahead,
                                  const Change& change) {
    std::string text =
        fmt::format("blocked in {} {}", pending.gang->label(),
                    to_string(change(describe(pending.call(), *pending.gang->info))));
    if (&ahead != &pending)
      text += " behind " + to_string(change(describe(ahead.call(), *ahead.gang->info)));
    return text;
  }

  // Makes one of those who are blocked in messages that differ in the rank at their other end.
  void merge_peers() {
    std::map<std::tuple<GangLabel, CallText, std::string, std::string>, std::size_t> places;
    std::vector<Group> merged;
    for (Group& group : groups_) {
      const CallSummary& summary = group.summary;
      const auto [place, is_new] = places.try_emplace(
          {summary.gang, summary.call, to_string(summary.location), group.any_peer_note},
          merged.size());
      if (is_new) {
        merged.push_back(std::move(group));
        continue;
      }
      CallSummary& known = merged[place->second].summary;
      known.note = group.any_peer_note;
      known.ranks.insert(known.ranks.end(), summary.ranks.begin(), summary.ranks.end());
    }
    groups_ = std::move(merged);
    sort_groups();
  }

  void merge_rest() {
    CallSummary& rest = groups_[most_entries - 1].summary;
    const std::size_t merged = groups_.size() - most_entries + 1;
    for (std::size_t i = most_entries; i < groups_.size(); ++i) {
      const std::vector<int>& ranks = groups_[i].summary.ranks;
      rest.ranks.insert(rest.ranks.end(), ranks.begin(), ranks.end());
    }
    std::sort(rest.ranks.begin(), rest.ranks.end());
    rest.gang = {};
    rest.call = {};
    rest.location = {};
    rest.note = fmt::format("{} other calls", merged);
    groups_.resize(most_entries);
  }

  const World& world_;
  const GangState& gang_;
  const bool counts_form_;
  std::vector<Group> groups_;
  std::map<Key, std::size_t> places_;
  std::deque<std::string> notes_;  // that keys are about
  Key last_key_;
  std::size_t last_ = 0;
};

CallSummary last_common_call(const GangState& gang, const Collective& next) {
  CallSummary summary;
  if (gang.last_call.sequence_number + 1 != next.sequence_number) return summary;
  summary.ranks = gang.info->root_ranks;
  std::sort(summary.ranks.begin(), summary.ranks.end());
  summary.gang = gang.gang_label();
  summary.call = describe(gang.last_call, *gang.info);
  summary.location = location_of(gang.last_call.call_site);
  return summary;
}

std::vector<CallSummary> parted_calls(const GangState& gang, const Collective& next) {
  std::vector<CallSummary> parted;
  const CallPlaces* const places = gang.places.get();
  if (places == nullptr || places->sequence_number + 1 != next.sequence_number ||
      places->first_by_member.empty() || places->first.sequence_number == gang.first_sequence)
    return parted;
  for (std::size_t member = 0; member < places->first_by_member.size(); ++member) {
    SourceLocation location = location_of(places->first_by_member[member]);
    auto known = std::ranges::find_if(parted, [&location](const CallSummary& each) {
      return is_same_line(each.location, location);
    });
    if (known == parted.end()) {
      if (parted.size() == most_entries) return {};
      parted.push_back({.gang = gang.gang_label(),
                        .call = describe(places->first, *gang.info),
                        .location = std::move(location)});
      known = std::prev(parted.end());
    }
    known->ranks.push_back(gang.root_rank_of(static_cast<int>(member)));
  }
  if (parted.size() == 1) return {};  // the same text, in two places of memory
  for (CallSummary& each : parted) std::ranges::sort(each.ranks);
  std::ranges::stable_sort(parted, {}, [](const CallSummary& each) {
    return std::pair(-std::ssize(each.ranks), each.ranks.front());
  });
  return parted;
}

}  // namespace

void add_common_past(const GangState& gang, const Collective& next, Divergence& divergence) {
  if (is_point_to_point(next.kind) || next.sequence_number == 0) return;
  divergence.last_common = last_common_call(gang, next);
  divergence.parted = parted_calls(gang, next);
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
      add_common_past(gang, members[member]->call(), divergence);
  }
  divergence.next = groups.take();
  return divergence;
}

}  // namespace gang::sim
