#include "harness/recording/open_calls.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace gang::harness {
namespace {

using Places = std::vector<std::uint32_t>;

bool are_alike(const Collective& one, const Collective& other) {
  return one.kind == other.kind && one.data_type == other.data_type && one.count == other.count &&
         one.reduce_operation == other.reduce_operation && one.label == other.label &&
         (is_point_to_point(one.kind) || one.peer == other.peer);
}

// A rank's collectives on one group.
struct Member {
  int rank = 0;
  Places places;           // ascending by number
  std::int64_t last = -1;  // number of its last one, in its ring or not; -1: none
  bool is_known = false;   // whether its dump tells what it called on the group
  bool has_lost = false;   // whether its ring has lost calls
};

class Search {
 public:
  explicit Search(const Recording& recording) : recording_(recording) {
    open_.groups.resize(recording.groups.size());
    open_.of_rank.resize(recording.ranks.size());
    open_.common_of_rank.resize(recording.ranks.size());
    open_.untold_of_rank.resize(recording.ranks.size());
    for (const RankRecording& rank : recording.ranks)
      open_.is_open.emplace_back(rank.calls.size(), false);
    open_.is_left_out = open_.is_open;
  }

  OpenCalls run() {
    sort_calls();
    for (std::uint32_t group = 0; group < recording_.groups.size(); ++group) search(group);
    for (auto& [link, ends] : links_) pair(link, ends);
    for (std::size_t rank = 0; rank < open_.is_open.size(); ++rank)
      for (std::uint32_t place = 0; place < open_.is_open[rank].size(); ++place)
        if (open_.is_open[rank][place]) open_.of_rank[rank].push_back(place);
    return std::move(open_);
  }

 private:
  struct End {
    int rank = 0;
    std::uint32_t place = 0;
  };
  struct Ends {
    std::vector<End> sends;
    std::vector<End> receives;
  };
  using Link = std::tuple<std::uint32_t, int, int, int>;  // group, source, destination, tag

  void sort_calls();
  void search(std::uint32_t group);
  bool have_other_arguments(const std::vector<Member>& members, const std::vector<std::size_t>& at,
                            std::uint64_t sequence) const;
  void open_from(const std::vector<Member>& members, const std::vector<std::size_t>& at);
  void add_untold(const std::vector<Member>& members, const std::vector<std::size_t>& at,
                  std::uint32_t group, std::uint64_t sequence);
  void pair(const Link& link, const Ends& ends);
  Member member_of(std::uint32_t group, int rank);
  bool has_ended(const std::vector<Member>& members, const std::vector<std::size_t>& at,
                 std::uint64_t sequence, bool are_all_known);

  const RankRecording& rank(int rank) const {
    return recording_.ranks[static_cast<std::size_t>(rank)];
  }
  const RankCall& call_at(int of, std::uint32_t place) const { return rank(of).calls[place]; }
  const Collective& text_of(const RankCall& call) const { return recording_.calls[call.call]; }
  bool is_last(const End& end) const { return end.place + 1 == rank(end.rank).calls.size(); }

  bool is_whole(int of) const { return !rank(of).is_missing && rank(of).first_record == 0; }

  // Of a call without the other side.
  bool is_open_alone(const End& end) const {
    const RankCall& call = call_at(end.rank, end.place);
    return !call.has_state ? is_last(end) : call.state != DumpedState::completed;
  }
  void open(const End& end) { open_.is_open[static_cast<std::size_t>(end.rank)][end.place] = true; }
  void leave_out(const End& end) {
    open_.is_left_out[static_cast<std::size_t>(end.rank)][end.place] = true;
  }

  const Recording& recording_;
  OpenCalls open_;
  std::vector<std::vector<Places>> collectives_;  // by rank and group
  std::map<Link, Ends> links_;
};

void Search::sort_calls() {
  collectives_.resize(recording_.ranks.size());
  for (std::size_t i = 0; i < recording_.ranks.size(); ++i) {
    const auto& calls = recording_.ranks[i].calls;
    if (!calls.empty()) collectives_[i].resize(recording_.groups.size());
    for (std::uint32_t place = 0; place < calls.size(); ++place) {
      const RankCall& call = calls[place];
      const Collective& text = text_of(call);
      if (!call.is_message) {
        collectives_[i][call.group].push_back(place);
        continue;
      }
      const End end{static_cast<int>(i), place};
      if (text.peer < 0) {
        if (is_open_alone(end))
          open(end);
        else if (!std::ranges::all_of(recording_.groups[call.group].ranks,
                                      [this](int of) { return is_whole(of); }))
          leave_out(end);
        continue;
      }
      const int peer = recording_.groups[call.group].ranks[static_cast<std::size_t>(text.peer)];
      if (text.kind == OperationKind::send)
        links_[{call.group, end.rank, peer, text.tag}].sends.push_back(end);
      else
        links_[{call.group, peer, end.rank, text.tag}].receives.push_back(end);
    }
  }
}

void Search::pair(const Link& link, const Ends& ends) {
  const bool are_whole = is_whole(std::get<1>(link)) && is_whole(std::get<2>(link));
  const std::size_t pairs = are_whole ? std::min(ends.sends.size(), ends.receives.size()) : 0;
  for (std::size_t i = 0; i < pairs; ++i) {
    const RankCall& send = call_at(ends.sends[i].rank, ends.sends[i].place);
    const RankCall& receive = call_at(ends.receives[i].rank, ends.receives[i].place);
    Collective as_send = text_of(receive);
    as_send.kind = OperationKind::send;
    const bool are_done = !send.has_state || (send.state == DumpedState::completed &&
                                              receive.state == DumpedState::completed);
    if (are_done && are_alike(text_of(send), as_send)) continue;
    open(ends.sends[i]);
    open(ends.receives[i]);
  }
  for (const auto* side : {&ends.sends, &ends.receives})
    for (std::size_t i = pairs; i < side->size(); ++i)
      // Without a state, a call waits if it should have met the other side.
      if (is_open_alone((*side)[i]) ||
          (are_whole && !call_at((*side)[i].rank, (*side)[i].place).has_state))
        open((*side)[i]);
      else
        leave_out((*side)[i]);
}

Member Search::member_of(std::uint32_t group, int of) {
  Member member{.rank = of};
  const RankRecording& recorded = rank(of);
  if (recorded.is_missing) return member;
  member.has_lost = recorded.first_record != 0;
  if (auto& groups = collectives_[static_cast<std::size_t>(of)]; !groups.empty())
    member.places = std::move(groups[group]);
  std::ranges::stable_sort(member.places, {},
                           [&](std::uint32_t place) { return call_at(of, place).sequence; });
  if (!member.places.empty())
    member.last = static_cast<std::int64_t>(call_at(of, member.places.back()).sequence);
  else if (member.has_lost)
    member.last = recorded.enqueued[group];
  member.is_known = !member.has_lost || member.last >= 0;
  return member;
}

// Whether the collective with this number, which some member made, has ended; `at`: where each
// member has it, or the next one. Where it is completed on one member all have called it, whatever
// their dumps say, which may be older; unless one rank only sends or receives in it.
bool Search::has_ended(const std::vector<Member>& members, const std::vector<std::size_t>& at,
                       std::uint64_t sequence, bool are_all_known) {
  const RankCall* first = nullptr;
  bool is_done = true;
  bool is_done_by_one = false;
  bool has_gone_on = false;
  std::vector<int> lacking;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members[i];
    if (!member.is_known) continue;
    const RankCall* call =
        at[i] == member.places.size() ? nullptr : &call_at(member.rank, member.places[at[i]]);
    if (call == nullptr || call->sequence != sequence) {
      lacking.push_back(member.rank);
      continue;
    }
    if (first == nullptr)
      first = call;
    else if (call->call != first->call && !are_alike(text_of(*call), text_of(*first)))
      return false;
    const bool is_completed = call->has_state && call->state == DumpedState::completed;
    is_done = is_done && is_completed;
    is_done_by_one = is_done_by_one || is_completed;
    has_gone_on = has_gone_on || !is_last({member.rank, member.places[at[i]]});
  }
  if (is_done_by_one && !has_root(text_of(*first).kind)) {
    open_.early.insert(lacking.begin(), lacking.end());
    return true;
  }
  if (!lacking.empty()) return false;
  return first->has_state ? is_done : are_all_known || has_gone_on;
}

// Whether members made the same operation with this number, but not alike.
bool Search::have_other_arguments(const std::vector<Member>& members,
                                  const std::vector<std::size_t>& at,
                                  std::uint64_t sequence) const {
  const Collective* first = nullptr;
  bool differ = false;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (at[i] == members[i].places.size()) continue;
    const RankCall& call = call_at(members[i].rank, members[i].places[at[i]]);
    if (call.sequence != sequence) continue;
    if (first == nullptr) first = &text_of(call);
    if (first->kind != text_of(call).kind) return false;
    differ = differ || !are_alike(*first, text_of(call));
  }
  return differ;
}

// Notes the members whose dumps do not tell the collective with this number, which has ended.
void Search::add_untold(const std::vector<Member>& members, const std::vector<std::size_t>& at,
                        std::uint32_t group, std::uint64_t sequence) {
  std::vector<int> lacking;
  OpenCalls::Untold untold{.group = group};
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members[i];
    if (at[i] == member.places.size() ||
        call_at(member.rank, member.places[at[i]]).sequence != sequence) {
      lacking.push_back(member.rank);
      continue;
    }
    const RankCall& call = call_at(member.rank, member.places[at[i]]);
    untold.call = call.call;
    untold.time = std::max(untold.time, call.created_ns);
    untold.place = std::max(untold.place, member.places[at[i]]);
  }
  for (const int rank : lacking)
    open_.untold_of_rank[static_cast<std::size_t>(rank)].push_back(untold);
}

// Opens what the members called from `at` on, each as long as it leaves out no number.
void Search::open_from(const std::vector<Member>& members, const std::vector<std::size_t>& at) {
  std::set<std::uint64_t> numbers;
  for (std::size_t i = 0; i < members.size(); ++i)
    for (std::size_t k = at[i]; k < members[i].places.size(); ++k)
      numbers.insert(call_at(members[i].rank, members[i].places[k]).sequence);
  for (std::size_t i = 0; i < members.size(); ++i) {
    auto number = numbers.begin();
    for (std::size_t k = at[i]; k < members[i].places.size(); ++k, ++number) {
      const std::uint32_t place = members[i].places[k];
      if (number == numbers.end() || call_at(members[i].rank, place).sequence != *number) break;
      open({members[i].rank, place});
    }
  }
}

void Search::search(std::uint32_t group) {
  std::vector<Member> members;
  std::uint64_t sequence = 0;
  bool are_all_known = true;
  for (const int rank : recording_.groups[group].ranks) {
    const Member& member = members.emplace_back(member_of(group, rank));
    are_all_known = are_all_known && member.is_known;
    if (!member.has_lost || !member.is_known) continue;
    sequence =
        std::max(sequence, member.places.empty() ? static_cast<std::uint64_t>(member.last) + 1
                                                 : call_at(rank, member.places.front()).sequence);
  }
  for (const Member& member : members)
    for (const std::uint32_t place : member.places)
      if (call_at(member.rank, place).sequence < sequence) leave_out({member.rank, place});
  std::vector<std::size_t> at(members.size(), 0);
  // The next number that any member has; false if there is none.
  const auto go_to_next = [&] {
    std::optional<std::uint64_t> next;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Member& member = members[i];
      while (at[i] < member.places.size() &&
             call_at(member.rank, member.places[at[i]]).sequence < sequence)
        ++at[i];
      if (at[i] == member.places.size()) continue;
      const std::uint64_t number = call_at(member.rank, member.places[at[i]]).sequence;
      next = next ? std::min(*next, number) : number;
    }
    sequence = next.value_or(sequence);
    return next.has_value();
  };
  OpenCalls::Group& open_group = open_.groups[group];
  std::uint64_t common = ~std::uint64_t{0};  // number of the last one that has ended
  while (go_to_next()) {
    if (!has_ended(members, at, sequence, are_all_known)) {
      open_group.first = sequence;
      break;
    }
    add_untold(members, at, group, sequence);
    common = sequence++;
  }
  if (!open_group.first) return;
  open_group.differs = have_other_arguments(members, at, sequence);
  const auto made_common = [&](std::size_t i) {
    const Member& member = members[i];
    return at[i] > 0 && call_at(member.rank, member.places[at[i] - 1]).sequence == common;
  };
  open_group.has_common = are_all_known && common + 1 == sequence;
  for (std::size_t i = 0; i < members.size(); ++i)
    open_group.has_common = open_group.has_common && made_common(i);
  if (open_group.has_common)
    for (std::size_t i = 0; i < members.size(); ++i)
      open_.common_of_rank[static_cast<std::size_t>(members[i].rank)].push_back(
          members[i].places[at[i] - 1]);
  open_from(members, at);
}

}  // namespace

OpenCalls find_open_calls(const Recording& recording) { return Search(recording).run(); }

}  // namespace gang::harness
