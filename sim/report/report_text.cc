#include "sim/report/report_text.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/report/call_group.h"
#include "sim/report/crossed_calls.h"
#include "sim/report/fix.h"
#include "sim/report/stacks_text.h"
#include "sim/text/text_layout.h"

namespace gang::sim {
namespace {

constexpr std::size_t most_rows = 16;
constexpr std::size_t most_findings_of_a_kind = 4;

std::vector<std::string> row_of(const CallGroup& group) {
  const BlockedCall& call = group.first();
  std::string rank = to_rank_ranges(group.ranks(), 3);
  if (!call.context.empty()) rank += "/" + call.context;
  const std::string gang = group.gang_text();
  const std::string operation = to_string(group.call);
  const std::string waits = waits_text(group, 3);
  return {std::move(rank), gang.empty() ? operation : fmt::format("{}  {}", gang, operation),
          waits.empty() ? "-" : waits, to_string(call.location)};
}

// At most `most_rows` rows: beyond that, gangs of one name share a row, then messages that differ
// only in their peer.
MarkedText blocked_rows(const std::vector<const BlockedCall*>& blocked) {
  const std::vector<CallGroup> groups = group_calls(blocked, CallSharing::any_peer, most_rows);
  std::vector<std::vector<std::string>> rows = {{"rank", "blocked in", "waits for", "at"}};
  for (std::size_t i = 0; i < std::min(groups.size(), most_rows); ++i) {
    rows.push_back(row_of(groups[i]));
    if (const auto& behind = groups[i].behind)
      rows.push_back(
          {"", fmt::format("behind {}  {}", to_string(behind->gang), to_string(behind->call)), "",
           to_string(behind->location)});
  }
  MarkedText text = marked_table(rows);
  if (groups.size() > most_rows)
    text.add(fmt::format("  ... and {} more kinds of calls\n", groups.size() - most_rows));
  return text;
}

MarkedText blocked_table(const std::vector<BlockedCall>& blocked) {
  std::vector<const BlockedCall*> core;
  std::vector<const BlockedCall*> downstream;
  for (const BlockedCall& call : blocked) (call.is_core ? core : downstream).push_back(&call);
  MarkedText text = blocked_rows(core.empty() ? downstream : core);
  if (core.empty() || downstream.empty()) return text;
  text.add("\n  Blocked behind these:\n\n");
  text.add(blocked_rows(downstream));
  return text;
}

// "train.py:41 in Trainer.step", for names as Python has them; those of C++ have parameters.
std::string location_text(const SourceLocation& location) {
  std::string text = to_string(location);
  const std::string& function = location.function;
  const bool is_name = !function.empty() && std::ranges::all_of(function, [](unsigned char letter) {
    return letter == '_' || letter == '.' || letter >= 0x80 || std::isalnum(letter) != 0;
  });
  return is_name && !text.empty() ? fmt::format("{} in {}", text, function) : text;
}

// Who called what, starting with the last common call.
MarkedText divergence_table(const Divergence& divergence) {
  std::set<GangLabel> gangs;
  for (const CallSummary& call : divergence.next)
    if (!call.call.empty()) gangs.insert(call.gang);
  const bool is_one_gang = gangs.size() <= 1;
  std::vector<std::vector<std::string>> rows = {
      {"rank",
       is_one_gang && !gangs.empty() ? fmt::format("calls on {}", to_string(*gangs.begin()))
                                     : "calls",
       "at"}};
  for (const CallSummary& call : divergence.parted)
    rows.push_back(
        {to_rank_ranges(call.ranks, 3), to_string(call.call), location_text(call.location)});
  const CallSummary& last = divergence.last_common;
  if (!last.call.empty() &&
      (divergence.parted.empty() || divergence.parted.front().call != last.call))
    rows.push_back({fmt::format("all {}", last.ranks.size()), to_string(last.call),
                    location_text(last.location)});
  for (const CallSummary& call : divergence.next) {
    std::string what = to_string(call.call);
    if (what.empty())
      what = "(" + call.note + ")";
    else if (!is_one_gang)
      what = fmt::format("{}  {}", to_string(call.gang), what);
    if (!call.call.empty() && !call.note.empty()) what += " (" + call.note + ")";
    rows.push_back({to_rank_ranges(call.ranks, 3), std::move(what), location_text(call.location)});
  }
  return marked_table(rows);
}

std::string parting_text(const Divergence& divergence) {
  if (divergence.parted.empty()) return "";
  const CallText& call = divergence.parted.front().call;
  return fmt::format(
      "Before that, they matched {} #{} from different places: one may have skipped a call there.",
      call.kind, call.sequence.value_or(0));
}

std::string near_miss_text(const NearMiss& miss) {
  const auto call_text = [](const CallSummary& call) {
    return fmt::format("{} {} on {} at {}", to_rank_ranges(call.ranks, 3), to_string(call.call),
                       to_string(call.gang), to_string(call.location));
  };
  if (miss.field == place_field)
    return fmt::format("Elsewhere: {} {} made that call at {}.",
                       miss.second.ranks.size() == 1 ? "rank" : "ranks",
                       to_rank_ranges(miss.second.ranks, 3), to_string(miss.second.location));
  return fmt::format("Near miss: rank {} and rank {} would match if the {} were equal.",
                     call_text(miss.first), call_text(miss.second), miss.field);
}

// Whether the finding's message already says what its near misses would.
bool is_about_near_misses(const Finding& finding) {
  return finding.id == finding_id::mismatch_tag || finding.id == finding_id::mismatch_gang;
}

// The first of the errors that the program has handled, and how many more there are.
std::string handled_text(const std::vector<Finding>& handled) {
  if (handled.empty()) return "";
  std::string text = handled.front().message;
  if (handled.size() > 1) text += fmt::format(" And {} more.", handled.size() - 1);
  return text;
}

MarkedText advice(const Report& report) {
  MarkedText text;
  text.add_advice("Stacks", stacks_text(report.blocked));
  if (!report.findings.empty())
    if (const std::string_view fix = fix_for(report.findings.front()); !fix.empty())
      text.add_command("Fix", fix);
  const auto timed = std::ranges::find_if(
      report.blocked, [](const BlockedCall& call) { return call.would_time_out_after_ns != 0; });
  if (timed != report.blocked.end())
    text.add_command(
        "Timeout", "would fail after " + gang::to_string(Duration(timed->would_time_out_after_ns)));
  if (const Certainty* certainty = certainty_of(report))
    text.add_advice("Certainty", to_string(*certainty, report.faults));
  text.add_advice("Suspect", to_string(report.crossed_calls));
  text.add_advice("Leaks", to_string(report.left_behind));
  text.add_advice("Handled", handled_text(report.handled));
  return text;
}

MarkedText finding_text(const Finding& finding) {
  MarkedText text;
  text.add(wrapped(full_message(finding), "  "));
  for (const std::string& consequence : finding.consequences)
    text.add(wrapped("then " + consequence, "    "));
  if (!is_about_near_misses(finding))
    for (const NearMiss& miss : finding.near_misses) text.add(wrapped(near_miss_text(miss), "  "));
  if (!finding.divergence) return text;
  if (const std::string parting = parting_text(*finding.divergence); !parting.empty())
    text.add(wrapped(parting, "  "));
  text.add("\n");
  text.add(divergence_table(*finding.divergence));
  return text;
}

// The first few findings of each kind, and the number and ranks of the rest.
MarkedText findings_text(const std::vector<Finding>& findings) {
  std::map<std::string, std::vector<const Finding*>> of_kind;
  MarkedText text;
  for (const Finding& finding : findings) {
    auto& alike = of_kind[finding.id];
    alike.push_back(&finding);
    if (alike.size() > most_findings_of_a_kind) continue;
    if (&finding != &findings.front()) text.add(fmt::format("\n{}\n", finding.id));
    text.add("\n");
    text.add(finding_text(finding));
  }
  for (const auto& [id, alike] : of_kind) {
    if (alike.size() <= most_findings_of_a_kind) continue;
    const std::size_t more = alike.size() - most_findings_of_a_kind;
    std::set<int> ranks;
    for (std::size_t i = most_findings_of_a_kind; i < alike.size(); ++i)
      ranks.insert(alike[i]->ranks.begin(), alike[i]->ranks.end());
    text.add("\n" + wrapped(fmt::format("{} more {} finding{}, on {} {}", more, id,
                                        more == 1 ? "" : "s", ranks.size() == 1 ? "rank" : "ranks",
                                        to_rank_ranges({ranks.begin(), ranks.end()})),
                            "  "));
  }
  return text;
}

}  // namespace

MarkedText headline(const Report& report, std::string_view run) {
  std::string word(to_string(report.outcome));
  for (char& letter : word) letter = static_cast<char>(std::toupper(letter));
  const std::string id = report.findings.empty() ? "" : "  " + report.findings.front().id;
  MarkedText text;
  text.add(word, report.holds() ? TextRole::good_verdict : TextRole::bad_verdict);
  text.add(id, TextRole::strong);
  if (!run.empty()) {
    const std::size_t width = word.size() + id.size() + column_count(run);
    text.add(std::string(width + 2 < terminal_columns ? terminal_columns - width : 2, ' '));
    text.add(run, TextRole::faint);
  }
  text.add("\n");
  return text;
}

MarkedText explanation(const Report& report) {
  MarkedText text;
  if (!report.divergence.empty()) text.add("\n" + wrapped(report.divergence, "  "));
  text.add(findings_text(report.findings));
  if (!report.blocked.empty()) {
    text.add("\n");
    text.add(blocked_table(report.blocked));
  }
  const MarkedText advised = advice(report);
  if (!advised.spans().empty()) text.add("\n");
  text.add(advised);
  return text;
}

std::string to_string(const Finding& finding) { return plain_text(finding_text(finding)); }

std::string to_string(const Report& report) {
  return plain_text(headline(report)) + plain_text(explanation(report));
}

}  // namespace gang::sim
