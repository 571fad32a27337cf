#include "sim/report/report.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/text/text_layout.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_rows = 16;
constexpr std::size_t most_findings_of_a_kind = 4;

// Blocked contexts in the same call, waiting for the same ranks.
struct BlockedGroup {
  std::vector<int> ranks;
  std::set<std::string> gangs;
  const BlockedCall* call = nullptr;
  std::string operation;  // of all
  bool is_alike = true;   // whether all wait for the same ranks
};

// How much two blocked contexts must share to stand in one row: the last leaves out who is at the
// other end of a message.
enum class RowsPer : std::uint8_t { gang, gang_name, any_peer };

std::string gang_name(const BlockedCall& call) { return call.gang.substr(0, call.gang.find('[')); }

std::vector<BlockedGroup> grouped(const std::vector<const BlockedCall*>& blocked, RowsPer rows) {
  using Key =
      std::tuple<std::string, std::string, std::string, std::string, std::string, std::vector<int>>;
  std::vector<BlockedGroup> groups;
  std::map<Key, std::size_t> places;
  for (const BlockedCall* call : blocked) {
    const bool by_name = rows != RowsPer::gang;
    const std::string operation =
        rows == RowsPer::any_peer ? with_any_peer(call->operation) : call->operation;
    const auto [place, is_new] = places.try_emplace(
        Key{call->context, by_name ? gang_name(*call) : call->gang, operation, call->location,
            call->behind_location, by_name ? std::vector<int>{} : call->waits_for},
        groups.size());
    if (is_new) groups.push_back({.call = call, .operation = operation});
    BlockedGroup& group = groups[place->second];
    group.ranks.push_back(call->rank);
    group.gangs.insert(call->gang);
    group.is_alike = group.is_alike && call->waits_for == group.call->waits_for;
  }
  return groups;
}

std::string waits_text(const BlockedCall& call) {
  if (call.waits_for_count == 0) return "-";
  std::string text = to_rank_ranges(call.waits_for, 3);
  if (call.waits_for_count > call.waits_for.size() && !text.ends_with("...")) text += ",...";
  return text;
}

std::vector<std::string> row_of(const BlockedGroup& group) {
  const BlockedCall& call = *group.call;
  std::string rank = to_rank_ranges(group.ranks, 3);
  if (!call.context.empty()) rank += "/" + call.context;
  const bool is_one_gang = group.gangs.size() == 1;
  const std::string gang =
      is_one_gang ? call.gang : fmt::format("{} ({} gangs)", gang_name(call), group.gangs.size());
  return {rank, gang.empty() ? group.operation : fmt::format("{}  {}", gang, group.operation),
          group.is_alike ? waits_text(call) : "-", call.location};
}

// At most `most_rows` rows; where there would be more, gangs of one name share a row, then messages
// with other ranks at their other end.
std::string blocked_rows(const std::vector<const BlockedCall*>& blocked) {
  std::vector<BlockedGroup> groups = grouped(blocked, RowsPer::gang);
  if (groups.size() > most_rows) groups = grouped(blocked, RowsPer::gang_name);
  if (groups.size() > most_rows) groups = grouped(blocked, RowsPer::any_peer);
  std::vector<std::vector<std::string>> rows = {{"rank", "blocked in", "waits for", "at"}};
  for (std::size_t i = 0; i < std::min(groups.size(), most_rows); ++i) {
    rows.push_back(row_of(groups[i]));
    if (const BlockedCall& call = *groups[i].call; !call.behind.empty())
      rows.push_back({"", "behind " + call.behind, "", call.behind_location});
  }
  std::string text = table(rows);
  if (groups.size() > most_rows)
    text += fmt::format("  ... and {} more kinds of calls\n", groups.size() - most_rows);
  return text;
}

std::string blocked_table(const std::vector<BlockedCall>& blocked) {
  std::vector<const BlockedCall*> core;
  std::vector<const BlockedCall*> downstream;
  for (const BlockedCall& call : blocked) (call.is_core ? core : downstream).push_back(&call);
  std::string text = blocked_rows(core.empty() ? downstream : core);
  if (!core.empty() && !downstream.empty())
    text += "\n  Blocked because of those:\n\n" + blocked_rows(downstream);
  return text;
}

// Who called what, the last call in common first.
std::string divergence_table(const Divergence& divergence) {
  std::set<std::string> gangs;
  for (const CallSummary& call : divergence.next)
    if (!call.operation.empty()) gangs.insert(call.gang);
  const bool is_one_gang = gangs.size() <= 1;
  std::vector<std::vector<std::string>> rows = {
      {"rank", is_one_gang && !gangs.empty() ? fmt::format("calls on {}", *gangs.begin()) : "calls",
       "at"}};
  if (const CallSummary& last = divergence.last_common; !last.operation.empty())
    rows.push_back({fmt::format("all {}", last.ranks.size()), last.operation, last.location});
  for (const CallSummary& call : divergence.next) {
    std::string what = call.operation.empty() ? "(" + call.note + ")"
                       : is_one_gang          ? call.operation
                                              : fmt::format("{}  {}", call.gang, call.operation);
    if (!call.operation.empty() && !call.note.empty()) what += " (" + call.note + ")";
    rows.push_back({to_rank_ranges(call.ranks, 3), std::move(what), call.location});
  }
  return table(rows);
}

std::string near_miss_text(const NearMiss& miss) {
  const auto call_text = [](const CallSummary& call) {
    return fmt::format("{} {} on {} at {}", to_rank_ranges(call.ranks, 3), call.operation,
                       call.gang, call.location);
  };
  if (miss.field == place_field)
    return fmt::format("Elsewhere: {} {} made that call at {}.",
                       miss.second.ranks.size() == 1 ? "rank" : "ranks",
                       to_rank_ranges(miss.second.ranks, 3), miss.second.location);
  return fmt::format("Near miss: rank {} and rank {} would match if the {} were equal.",
                     call_text(miss.first), call_text(miss.second), miss.field);
}

// Whether the message of the finding says what its near misses would.
bool is_about_near_misses(const Finding& finding) {
  return finding.id == finding_id::mismatch_tag || finding.id == finding_id::mismatch_gang;
}

std::string advice(const Report& report) {
  std::string text;
  if (!report.findings.empty())
    if (const std::string_view fix = fix_for(report.findings.front().id); !fix.empty())
      text += fmt::format("  Fix        {}\n", fix);
  for (const BlockedCall& call : report.blocked) {
    if (call.would_time_out_after_ns == 0) continue;
    text += fmt::format("  Timeout    would fail after {}\n",
                        gang::to_string(Duration(call.would_time_out_after_ns)));
    break;
  }
  const std::string& certainty = !report.certainty.empty() || report.findings.empty()
                                     ? report.certainty
                                     : report.findings.front().certainty;
  if (!certainty.empty()) {
    std::string lines = wrapped(certainty, "             ");
    text += "  Certain    " + lines.substr(std::min<std::size_t>(lines.size(), 13));
  }
  return text.empty() ? text : "\n" + text;
}

struct Fix {
  std::string_view id;
  std::string_view advice;
};

constexpr std::array fixes = {
    Fix{"participant_missing", "let every member call it, or none: agree on it first"},
    Fix{"mismatch_operation", "call the same operations in the same order on every member"},
    Fix{"mismatch_count", "pass the same number of elements on every member"},
    Fix{"mismatch_data_type", "pass the same data type on every member"},
    Fix{"mismatch_reduce_operation", "pass the same reduce operation on every member"},
    Fix{"mismatch_root", "pass the same root on every member"},
    Fix{"mismatch_tag", "use one tag on both sides"},
    Fix{"mismatch_label", "bring the members back into step: one is ahead of the others"},
    Fix{"mismatch_blocking", "use the blocking form on every member, or on none"},
    Fix{"mismatch_ranks", "pass the same ranks in the same order on every member"},
    Fix{"mismatch_gang", "use one gang for it on every member"},
    Fix{"group_creation_order", "create the gangs in one order on every rank"},
    Fix{"stream_order_inversion", "launch the operations in one order on every rank"},
    Fix{"device_synchronization", "make and close gangs when nothing started is under way"},
    Fix{"blocking_launch", "launch on all ranks before hosts wait, or let launches return at once"},
    Fix{"one_thread_many_ranks", "give each rank a thread, or a process, of its own"},
    Fix{"cross_gang_cycle", "call the gangs in one order on every rank"},
    Fix{"point_to_point_cycle", "let one side receive first, or use batch"},
    Fix{"buffering_hazard", "let the receiver post its receive first, or start the send"},
    Fix{"message_race", "name the source, or make the result independent of the order"},
    Fix{"uneven_iterations", "agree on the number of iterations before the loop"},
    Fix{"blocked_in_other_gang", "call the gangs in one order on every rank, or on none"},
    Fix{"unwaited_work", "keep the Work and wait for it"},
    Fix{"unreceived_message", "receive it, or do not send it"},
    Fix{"buffer_in_flight", "wait before touching the buffer"},
    Fix{"use_after_close", "close the gang after its last use"},
    Fix{"gang_not_closed", "let go of the gang before the program ends, or close it"},
};

// Of each kind the first few; of the others their number and ranks.
std::string findings_text(const std::vector<Finding>& findings) {
  std::map<std::string, std::vector<const Finding*>> of_kind;
  std::string text;
  for (const Finding& finding : findings) {
    auto& alike = of_kind[finding.id];
    alike.push_back(&finding);
    if (alike.size() > most_findings_of_a_kind) continue;
    if (&finding != &findings.front()) text += fmt::format("\n{}\n", finding.id);
    text += "\n" + to_string(finding);
  }
  for (const auto& [id, alike] : of_kind) {
    if (alike.size() <= most_findings_of_a_kind) continue;
    std::set<int> ranks;
    for (std::size_t i = most_findings_of_a_kind; i < alike.size(); ++i)
      ranks.insert(alike[i]->ranks.begin(), alike[i]->ranks.end());
    text += "\n" + wrapped(fmt::format("{} more findings {}, of ranks {}",
                                       alike.size() - most_findings_of_a_kind, id,
                                       to_rank_ranges({ranks.begin(), ranks.end()})),
                           "  ");
  }
  return text;
}

std::string headline(const Report& report) {
  const std::string_view id =
      report.findings.empty() ? std::string_view() : report.findings.front().id;
  std::string word(to_string(report.outcome));
  for (char& letter : word) letter = static_cast<char>(std::toupper(letter));
  return id.empty() ? word : fmt::format("{}  {}", word, id);
}

}  // namespace

std::string_view fix_for(std::string_view finding_id) noexcept {
  for (const Fix& fix : fixes)
    if (fix.id == finding_id) return fix.advice;
  return "";
}

std::string_view to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::completed:
      return "completed";
    case Outcome::deadlock:
      return "deadlock";
    case Outcome::failed:
      return "failed";
    case Outcome::step_limit:
      return "step_limit";
    case Outcome::diverged:
      return "diverged";
  }
  return "";
}

std::string to_rank_ranges(const std::vector<int>& ranks, std::size_t most) {
  std::string text;
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < ranks.size(); ++pieces) {
    if (pieces == most) return text + ",...";
    std::size_t end = i + 1;
    const int stride = end < ranks.size() ? ranks[end] - ranks[i] : 0;
    while (end < ranks.size() && ranks[end] - ranks[end - 1] == stride) ++end;
    const bool is_run = end - i > 2 || (end - i == 2 && stride == 1);
    if (!is_run) end = i + 1;
    if (!text.empty()) text += ',';
    text += std::to_string(ranks[i]);
    if (is_run) text += fmt::format("-{}", ranks[end - 1]);
    if (is_run && stride > 1) text += fmt::format(":{}", stride);
    i = end;
  }
  return text;
}

std::string to_string(const Finding& finding) {
  std::string text = wrapped(finding.message, "  ");
  for (const std::string& consequence : finding.consequences)
    text += wrapped("then " + consequence, "    ");
  if (!is_about_near_misses(finding))
    for (const NearMiss& miss : finding.near_misses) text += wrapped(near_miss_text(miss), "  ");
  if (finding.divergence) text += "\n" + divergence_table(*finding.divergence);
  return text;
}

std::string to_string(const Report& report) {
  std::string text = headline(report) + "\n";
  if (!report.divergence.empty()) text += "\n" + wrapped(report.divergence, "  ");
  text += findings_text(report.findings);
  if (!report.blocked.empty()) text += "\n" + blocked_table(report.blocked);
  return text + advice(report);
}

}  // namespace gang::sim
