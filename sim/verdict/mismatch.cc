#include "sim/verdict/mismatch.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "sim/verdict/finding_text.h"

namespace gang::sim {
namespace {

using Members = std::vector<const PendingOperation*>;

// One field of the match: what two calls must have in common.
struct Field {
  std::string_view id;
  std::string_view name;
  std::string (*value)(const Collective& call);
};

std::string label_value(const Collective& call) { return std::string(call.label); }

constexpr std::string_view counts_by_rank = "numbers of elements by rank";  // of an all_gather

// In the order in which they are looked at. A label says which call the program means, so one that
// differs explains the arguments that differ with it.
const std::array fields = {
    Field{finding_id::mismatch_operation, "operation",
          [](const Collective& call) { return std::string(to_string(call.kind)); }},
    Field{finding_id::mismatch_label, "label", label_value},
    Field{finding_id::mismatch_data_type, "data type",
          [](const Collective& call) { return std::string(to_string(call.data_type)); }},
    Field{finding_id::mismatch_count, "number of elements",
          [](const Collective& call) { return std::to_string(call.count); }},
    Field{finding_id::mismatch_reduce_operation, "reduce operation",
          [](const Collective& call) { return std::string(to_string(call.reduce_operation)); }},
    Field{finding_id::mismatch_root, "root",
          [](const Collective& call) { return std::to_string(call.peer); }},
    Field{finding_id::mismatch_ranks, "rank list",
          [](const Collective& call) { return fmt::format("{:016x}", call.detail); }},
    Field{finding_id::mismatch_count, counts_by_rank,
          [](const Collective& call) { return fmt::format("{:016x}", call.detail); }},
};

const Field blocking_field{
    finding_id::mismatch_blocking, "blocking form",
    [](const Collective& call) { return std::string(call.blocking ? "blocking" : "start_"); }};

// The members by the value of a field; labels that are not given agree with all, unless the rules
// are strict.
std::map<std::string, Members> group_by(const Field& field, const Members& members,
                                        MatchRules rules) {
  std::map<std::string, Members> groups;
  for (const PendingOperation* member : members) {
    std::string value = field.value(member->call());
    if (field.id == finding_id::mismatch_label && value.empty() && !rules.strict_labels) continue;
    groups[std::move(value)].push_back(member);
  }
  return groups;
}

// A point-to-point pair differs in type or count only; lists of ranks differ as lists; other calls
// have none.
bool applies(const Field& field, const Members& members) {
  const OperationKind kind = members.front()->call().kind;
  if (kind == OperationKind::create_gang) return field.id != finding_id::mismatch_count;
  if (field.id == finding_id::mismatch_ranks) return false;
  if (!is_point_to_point(kind)) return true;
  return field.id == finding_id::mismatch_data_type || field.id == finding_id::mismatch_count;
}

std::string describe_call(const GangState& gang, const Members& group, const Field& field) {
  std::vector<int> members;
  for (const PendingOperation* member : group) members.push_back(member->member);
  const Collective& call = group.front()->call();
  const bool is_about_form = field.id == finding_id::mismatch_blocking;
  std::string list;
  if (field.id == finding_id::mismatch_ranks)
    list = fmt::format(" ({})", rank_list_text(group.front()->operation->extras->ranks));
  else if (field.name == counts_by_rank)
    list = fmt::format(" ({} by rank)",
                       fmt::join(group.front()->operation->extras->output_splits, ", "));
  return fmt::format("{} called {}{}{} at {}", members_text(gang, members),
                     is_about_form && !call.blocking ? "start_" : "",
                     to_string(describe(call, *gang.info)), list, to_string(call.call_site));
}

// Two rank lists that share less than half of the shorter one are two different gangs, created in
// another order; otherwise they are one gang with a wrong member.
bool are_different_gangs(const Members& one, const Members& other) {
  std::vector<int> a(one.front()->operation->extras->ranks.begin(),
                     one.front()->operation->extras->ranks.end());
  std::vector<int> b(other.front()->operation->extras->ranks.begin(),
                     other.front()->operation->extras->ranks.end());
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::vector<int> shared;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(shared));
  return 2 * shared.size() < std::min(a.size(), b.size());
}

Mismatch explain(const GangState& gang, const Field& field,
                 const std::map<std::string, Members>& groups) {
  std::vector<const Members*> by_size;
  for (const auto& [value, group] : groups) by_size.push_back(&group);
  std::stable_sort(by_size.begin(), by_size.end(), [](const Members* a, const Members* b) {
    return a->size() != b->size() ? a->size() > b->size() : a->front()->member < b->front()->member;
  });
  const bool has_majority = by_size.size() > 1 && by_size[0]->size() > by_size[1]->size();
  Mismatch mismatch;
  const Members& odd = *by_size[has_majority ? 1 : 0];
  Finding& finding = mismatch.finding;
  for (std::size_t i = has_majority ? 1 : 0; i < by_size.size(); ++i)
    for (const PendingOperation* member : *by_size[i])
      mismatch.odd_members.push_back(member->member);
  std::sort(mismatch.odd_members.begin(), mismatch.odd_members.end());
  for (const int member : mismatch.odd_members) finding.ranks.push_back(gang.root_rank_of(member));
  finding.id = field.id;
  if (field.id == finding_id::mismatch_ranks && are_different_gangs(*by_size[0], *by_size[1]))
    finding.id = finding_id::group_creation_order;
  finding.gang = gang.gang_label();
  finding.call = describe(odd.front()->call(), *gang.info);
  finding.location = location_of(odd.front()->call().call_site);
  std::string text;
  for (std::size_t i = has_majority ? 1 : 0; i < std::min<std::size_t>(by_size.size(), 3); ++i)
    text += (text.empty() ? "" : "; ") + describe_call(gang, *by_size[i], field);
  if (has_majority) text += "; " + describe_call(gang, *by_size[0], field);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  finding.message = text + ".";
  finding.detail = fmt::format("They differ in the {}.", field.name);
  return mismatch;
}

// Elements that a member of an all_to_all gives to another one, or wants from it.
std::int64_t share(std::span<const std::int64_t> splits, const Elements& tensor, std::size_t other,
                   std::size_t members) {
  return splits.empty() ? tensor.count() / static_cast<std::int64_t>(members) : splits[other];
}

// What one member gives to another one, and what that wants of it.
struct Shares {
  std::int64_t given = 0;
  std::int64_t wanted = 0;
};

Shares shares_of(const Members& members, std::size_t from, std::size_t to) {
  const Operation& sender = *members[from]->operation;
  const Operation& receiver = *members[to]->operation;
  return {share(sender.extras->input_splits, sender.input, to, members.size()),
          share(receiver.extras->output_splits, receiver.output, from, members.size())};
}

bool fits(const Members& members, std::size_t from, std::size_t to) {
  const Shares shares = shares_of(members, from, to);
  return shares.given == shares.wanted;
}

bool is_pair(const Members& members, std::size_t one, std::size_t other) {
  return fits(members, one, other) && fits(members, other, one);
}

// "Rank 1 sends 3 elements to rank 0, which expects 2 from it.", of the first pair that differs.
std::string first_misfit(const GangState& gang, const Members& members) {
  for (std::size_t from = 0; from < members.size(); ++from)
    for (std::size_t to = 0; to < members.size(); ++to) {
      if (fits(members, from, to)) continue;
      const Shares shares = shares_of(members, from, to);
      return fmt::format("Rank {} sends {} element{} to rank {}, which expects {} from it.",
                         gang.root_rank_of(members[from]->member), shares.given,
                         shares.given == 1 ? "" : "s", gang.root_rank_of(members[to]->member),
                         shares.wanted);
    }
  return "";
}

// Of an all_to_all of all members, three or more: the one without whom all pairs would fit; null
// where there is none. O(members squared).
const PendingOperation* odd_in_all_pairs(const Members& members) {
  if (members.size() < 3 || members.front()->call().kind != OperationKind::all_to_all)
    return nullptr;
  std::vector<std::size_t> misfits(members.size(), 0);
  std::size_t pairs = 0;
  for (std::size_t one = 0; one < members.size(); ++one)
    for (std::size_t other = one; other < members.size(); ++other) {
      if (is_pair(members, one, other)) continue;
      ++pairs;
      ++misfits[one];
      if (other != one) ++misfits[other];
    }
  const auto most = std::max_element(misfits.begin(), misfits.end());
  const bool is_one = *most == pairs && std::count(misfits.begin(), misfits.end(), *most) == 1;
  return is_one ? members[static_cast<std::size_t>(most - misfits.begin())] : nullptr;
}

}  // namespace

Mismatch explain_mismatch(const GangState& gang, std::span<PendingOperation* const> all,
                          MatchRules rules) {
  Members members;
  for (const PendingOperation* member : all)
    if (member != nullptr) members.push_back(member);
  for (const Field& field : fields) {
    if (!applies(field, members)) continue;
    const auto groups = group_by(field, members, rules);
    if (groups.size() > 1) return explain(gang, field, groups);
  }
  if (rules.strict_blocking) {
    const auto groups = group_by(blocking_field, members, rules);
    if (groups.size() > 1) return explain(gang, blocking_field, groups);
  }
  // Splits that differ pair by pair: odd is who is in every pair that differs, else all are named.
  const PendingOperation* odd = odd_in_all_pairs(members);
  std::map<std::string, Members> groups;
  for (const PendingOperation* member : members)
    groups[member == odd ? "odd" : "usual"].push_back(member);
  const auto& count = *std::find_if(fields.begin(), fields.end(), [](const Field& field) {
    return field.id == finding_id::mismatch_count;
  });
  Mismatch mismatch = explain(gang, count, groups);
  if (members.size() == all.size() && members.front()->call().kind == OperationKind::all_to_all)
    add_detail(mismatch.finding, first_misfit(gang, members));
  return mismatch;
}

}  // namespace gang::sim
