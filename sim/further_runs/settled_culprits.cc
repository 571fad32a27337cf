#include "sim/further_runs/settled_culprits.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "gang/operation_kind.h"
#include "sim/report/rank_text.h"
#include "sim/verdict/consensus.h"
#include "sim/verdict/finding_text.h"

namespace gang::sim {
namespace {

// About a kilobyte is recorded of each.
constexpr int most_ranks_recorded = 1'048'576;

constexpr std::array settled_ids = {finding_id::participant_missing,
                                    finding_id::mismatch_operation,
                                    finding_id::mismatch_count,
                                    finding_id::mismatch_data_type,
                                    finding_id::mismatch_reduce_operation,
                                    finding_id::mismatch_root,
                                    finding_id::mismatch_tag,
                                    finding_id::mismatch_label,
                                    finding_id::mismatch_ranks,
                                    finding_id::mismatch_gang,
                                    finding_id::group_creation_order,
                                    finding_id::cross_gang_cycle,
                                    finding_id::point_to_point_cycle,
                                    finding_id::stream_order_inversion,
                                    finding_id::uneven_iterations,
                                    finding_id::blocked_in_other_gang,
                                    finding_id::deadlock,
                                    finding_id::buffering_hazard};

bool is_about_calls(const Finding& finding) {
  return std::ranges::find(settled_ids, finding.id) != settled_ids.end();
}

// Null if there is none.
const Finding* first_about_calls(const Report& report) {
  const auto found = std::ranges::find_if(report.findings, is_about_calls);
  return found == report.findings.end() ? nullptr : &*found;
}

// -- Words --

// "tp all_reduce at train.cc:41".
std::string call_text(const CallSummary& call) {
  return fmt::format("{} {} at {}", call.gang.name, call.call.kind, to_string(call.location));
}

// "the other 3 ranks", "12 other ranks", "ranks 4-6".
std::string others_text(const CallSummary& others, std::size_t odd, std::size_t world) {
  if (others.ranks.size() + odd < world) return ranks_text(others.ranks);
  if (others.ranks.size() == 1) return ranks_text(others.ranks);
  return fmt::format("the other {} ranks", others.ranks.size());
}

// The arguments of `call` that matter beside those of `other`.
std::string with_arguments(const CallText& call, const CallText& other) {
  const bool is_message =
      call.kind == to_string(OperationKind::send) || call.kind == to_string(OperationKind::recv);
  if (is_message && call.payload == other.payload)
    return call.qualifiers.empty() ? "tag 0" : call.qualifiers;
  const std::string arguments = arguments_text(call);
  return arguments.empty() ? "no arguments" : arguments;
}

// What ranks did, "Rank 3 skipped ...", all of them the same: `deviation` is one of theirs.
std::string sentence_of(const std::vector<int>& ranks, const Deviation& deviation, std::size_t odd,
                        std::size_t world) {
  const CallSummary& did = deviation.did;
  const CallSummary& expected = deviation.expected;
  const std::string subject = capitalised(ranks_text(ranks));
  const std::string others = others_text(expected, odd, world);
  if (deviation.recorded != 0)
    return fmt::format(
        "{} had left the others before the last {} calls, which are all that is recorded: there it "
        "called {}, and {} called {}.",
        subject, deviation.recorded, call_text(did), others, call_text(expected));
  if (expected.call.empty())
    return fmt::format("{} called {}; {} returned instead.", subject, call_text(did), others);
  switch (deviation.kind) {
    case Deviance::skipped:
      return fmt::format("{} skipped {}, which {} called, and went on to {}.", subject,
                         call_text(expected), others, call_text(did));
    case Deviance::extra:
      return fmt::format("{} made an extra call, {}; {} went straight on to {}.", subject,
                         call_text(did), others, call_text(expected));
    case Deviance::reordered:
      return fmt::format("{} called {} first; {} called {} before it.", subject, call_text(did),
                         others, call_text(expected));
    case Deviance::other_gang:
      return fmt::format("{} called {} on {} at {}; {} called it on {}, at {}.", subject,
                         did.call.kind, did.gang.name, to_string(did.location), others,
                         expected.gang.name, to_string(expected.location));
    case Deviance::other_arguments:
      return fmt::format("{} called {} with {}; {} passed {}.", subject, call_text(did),
                         with_arguments(did.call, expected.call), others,
                         with_arguments(expected.call, did.call));
    case Deviance::returned:
      return fmt::format("{} returned without calling {}, which {} called.", subject,
                         call_text(expected), others);
    case Deviance::other_call:
      break;
  }
  return fmt::format("{} called {}; {} called {} instead.", subject, call_text(did), others,
                     call_text(expected));
}

bool is_alike(const Deviation& one, const Deviation& other) {
  const auto same = [](const CallSummary& a, const CallSummary& b) {
    return a.gang.name == b.gang.name && a.call.kind == b.call.kind &&
           is_same_line(a.location, b.location);
  };
  return one.kind == other.kind && same(one.did, other.did) && same(one.expected, other.expected);
}

// One sentence for those who did the same.
std::vector<std::string> sentences_of(const std::vector<Deviation>& deviations, std::size_t world) {
  std::vector<std::string> sentences;
  std::vector<bool> is_told(deviations.size(), false);
  for (std::size_t i = 0; i < deviations.size(); ++i) {
    if (is_told[i]) continue;
    std::vector<int> ranks;
    for (std::size_t k = i; k < deviations.size(); ++k)
      if (!is_told[k] && is_alike(deviations[i], deviations[k])) {
        is_told[k] = true;
        ranks.push_back(deviations[k].rank);
      }
    std::ranges::sort(ranks);
    sentences.push_back(sentence_of(ranks, deviations[i], deviations.size(), world));
  }
  return sentences;
}

// -- Findings --

Divergence divergence_of(const Deviation& deviation) {
  Divergence divergence{.last_common = deviation.last_common,
                        .next = {deviation.expected, deviation.did}};
  if (divergence.next[1].ranks.size() > divergence.next[0].ranks.size())
    std::swap(divergence.next[0], divergence.next[1]);
  return divergence;
}

// Whether it is one call that was made on two gangs. Barriers at two places may be two barriers.
bool is_mixed_up(const Deviation& deviation) {
  const CallSummary& did = deviation.did;
  const CallSummary& expected = deviation.expected;
  if (deviation.kind != Deviance::other_gang) return false;
  return is_same_line(did.location, expected.location) ||
         (!did.call.payload.empty() && did.call.payload == expected.call.payload);
}

// Whether the call names another root: members that needed nothing of the others may have completed
// it and returned, where gangs are not simulated.
bool has_other_root(const Deviation& deviation) {
  const CallText& did = deviation.did.call;
  const CallText& expected = deviation.expected.call;
  return deviation.kind == Deviance::other_arguments && did.payload == expected.payload &&
         did.peer != expected.peer;
}

// Whether it compares a message with one at another place of the program: that of a server, say,
// with those of its clients, which have calls of their own.
bool is_of_another_role(const Deviation& deviation) {
  const CallSummary& did = deviation.did;
  const CallSummary& expected = deviation.expected;
  const bool is_other =
      deviation.kind == Deviance::other_arguments || deviation.kind == Deviance::other_call;
  return is_other && did.call.kind == expected.call.kind &&
         (did.call.kind == to_string(OperationKind::send) ||
          did.call.kind == to_string(OperationKind::recv)) &&
         !is_same_line(did.location, expected.location);
}

// What three ids say is not true of any deviation.
std::string_view id_with(const Finding& finding, const Deviation& first) {
  if (finding.id == finding_id::uneven_iterations && first.kind != Deviance::returned &&
      !first.expected.call.empty())
    return finding_id::participant_missing;
  if (finding.id == finding_id::mismatch_gang && !is_mixed_up(first))
    return finding_id::blocked_in_other_gang;
  if (finding.id == finding_id::participant_missing && has_other_root(first))
    return finding_id::mismatch_root;
  return finding.id;
}

// Whether the finding shows the call as one of those that ranks made where they part.
bool shows(const Finding& finding, const CallSummary& call) {
  return !finding.divergence ||
         std::ranges::any_of(finding.divergence->next, [&call](const CallSummary& next) {
           return is_same_line(next.location, call.location);
         });
}

void lay_at_the_door(Finding& finding, const std::vector<Deviation>& deviations,
                     std::size_t world) {
  std::vector<int> culprits;
  for (const Deviation& deviation : deviations) culprits.push_back(deviation.rank);
  std::ranges::sort(culprits);
  const Deviation& first = deviations.front();
  const CallSummary& shown = first.did.call.empty() ? first.expected : first.did;
  const std::string_view id = id_with(finding, first);
  if (finding.ranks == culprits && is_same_line(finding.location, shown.location) &&
      finding.id == id && (first.expected.call.empty() || shows(finding, first.expected)))
    return;
  if (finding.ranks == culprits && std::ranges::all_of(deviations, is_of_another_role)) return;
  std::vector<std::string> sentences = sentences_of(deviations, world);
  std::string detail;
  for (std::size_t i = 1; i < sentences.size(); ++i) detail += sentences[i] + " ";
  finding.detail = detail + full_message(finding);
  finding.message = std::move(sentences.front());
  finding.id = id;
  finding.ranks = std::move(culprits);
  finding.location = shown.location;
  finding.gang = shown.gang;
  finding.call = shown.call;
  finding.divergence = divergence_of(first);
}

bool has_any(const std::vector<int>& ranks, const std::vector<int>& of) {
  return std::ranges::any_of(ranks,
                             [&of](int rank) { return std::ranges::binary_search(of, rank); });
}

// Whether what was found follows from what the culprits did: it is about them, or about a call in
// which one of them waits.
bool follows(const Finding& other, const std::vector<int>& culprits,
             const std::vector<BlockedCall>& blocked) {
  if (!is_about_calls(other)) return false;
  if (has_any(other.ranks, culprits)) return true;
  if (other.divergence && std::ranges::any_of(other.divergence->next, [&](const auto& call) {
        return has_any(call.ranks, culprits);
      }))
    return true;
  return std::ranges::any_of(blocked, [&](const BlockedCall& call) {
    return call.gang == other.gang && is_same_line(call.location, other.location) &&
           std::ranges::binary_search(culprits, call.rank);
  });
}

// Findings that follow from what the culprits of `first` did become its consequences.
void merge_consequences(Report& report, std::size_t first) {
  constexpr std::size_t most_told = 8;
  const std::vector<int> culprits = report.findings[first].ranks;
  std::vector<Finding> kept;
  std::vector<std::string> consequences;
  std::size_t place = 0;
  for (std::size_t i = 0; i < report.findings.size(); ++i) {
    Finding& other = report.findings[i];
    if (i == first) place = kept.size();
    if (i == first || !follows(other, culprits, report.blocked))
      kept.push_back(std::move(other));
    else if (consequences.size() < most_told)
      consequences.push_back(fmt::format("{} of {} at {}", other.id, ranks_text(other.ranks),
                                         to_string(other.location)));
  }
  report.findings = std::move(kept);
  std::ranges::move(consequences, std::back_inserter(report.findings[place].consequences));
}

// Whether its ranks, and not all others, have a context that waits for a mutex: that may be about
// to make the calls that their programs do not make.
bool is_about_lock(const Finding& finding, const std::vector<BlockedCall>& blocked) {
  std::set<int> waiting;
  std::set<int> all;
  for (const BlockedCall& call : blocked) {
    all.insert(call.rank);
    if (call.call.kind == mutex_wait) waiting.insert(call.rank);
  }
  return !waiting.empty() && waiting.size() < all.size() &&
         std::ranges::all_of(finding.ranks, [&](int rank) { return waiting.contains(rank); });
}

void tell_sides(Finding& finding, const std::vector<CallSummary>& sides) {
  std::vector<int> ranks;
  std::string text;
  if (std::ranges::any_of(sides, &CallText::empty, &CallSummary::call)) return;
  for (const CallSummary& side : sides) {
    ranks.insert(ranks.end(), side.ranks.begin(), side.ranks.end());
    text += fmt::format("{}{} called {}", text.empty() ? "" : "; ", ranks_text(side.ranks),
                        call_text(side));
  }
  std::ranges::sort(ranks);
  if (std::ranges::includes(finding.ranks, ranks)) return;
  if (!finding.detail.empty()) finding.detail += " ";
  finding.detail += fmt::format("No side is in the majority: {}.", text);
}

// Of two ranks, either may be wrong; that one of them does what is new there is worth knowing.
void tell_habit(Finding& finding, const Habit& habit) {
  const std::string other = habit.unusual.call.empty()
                                ? std::string("returned")
                                : fmt::format("called {}", call_text(habit.unusual));
  if (!finding.detail.empty()) finding.detail += " ";
  finding.detail +=
      fmt::format("Before this, both went on from {} to {} ({}), as {} does now; {} {} instead.",
                  call_text(habit.after), call_text(habit.usual),
                  habit.times == 1 ? "once" : fmt::format("{} times", habit.times),
                  ranks_text(habit.usual.ranks), ranks_text(habit.unusual.ranks), other);
}

// A message whose two ends would meet if one call named another peer, and that is all: the rank of
// that call. Null otherwise.
const CallSummary* wrong_peer(const Finding& finding) {
  if (finding.id != finding_id::participant_missing || finding.near_misses.size() != 1)
    return nullptr;
  const NearMiss& miss = finding.near_misses.front();
  if (!miss.second.note.empty()) return nullptr;
  if (miss.field == "source") return &miss.second;
  return miss.field == "destination" ? &miss.first : nullptr;
}

// The only rank whose message explains why two ranks wait.
void blame_wrong_peer(Finding& finding) {
  const CallSummary* wrong = wrong_peer(finding);
  if (wrong == nullptr || finding.ranks == wrong->ranks) return;
  const NearMiss& miss = finding.near_misses.front();
  const CallSummary& other = wrong == &miss.first ? miss.second : miss.first;
  finding.detail = full_message(finding);
  finding.message =
      fmt::format("{} called {} {} at {}, where {} waits in {} {} at {}.",
                  capitalised(ranks_text(wrong->ranks)), wrong->gang.name, to_string(wrong->call),
                  to_string(wrong->location), ranks_text(other.ranks), other.gang.name,
                  to_string(other.call), to_string(other.location));
  finding.ranks = wrong->ranks;
  finding.location = wrong->location;
  finding.gang = wrong->gang;
  finding.call = wrong->call;
}

// Whether a process has said who made which groups: all that follows is no fault of its calls.
bool begins_with_told_groups(const Report& report) {
  return !report.findings.empty() &&
         report.findings.front().id == finding_id::group_creation_order &&
         report.findings.front().gang.empty();
}

// Of the findings about calls, the first one.
void settle_first(Report& report, const Consensus& consensus, std::size_t world) {
  if (begins_with_told_groups(report)) return;
  const auto finding = std::ranges::find_if(report.findings, is_about_calls);
  if (finding == report.findings.end() || is_about_lock(*finding, report.blocked)) return;
  if (consensus.habit) tell_habit(*finding, *consensus.habit);
  if (!consensus.deviations.empty()) {
    lay_at_the_door(*finding, consensus.deviations, world);
    merge_consequences(report, static_cast<std::size_t>(finding - report.findings.begin()));
  } else if (!consensus.sides.empty())
    tell_sides(*finding, consensus.sides);
  else
    blame_wrong_peer(*finding);
}

}  // namespace

std::optional<SimulationOptions> recording_options(const SimulationOptions& options,
                                                   const Report& report) {
  if (!report.faults.empty() || options.world_size > most_ranks_recorded ||
      first_about_calls(report) == nullptr)
    return std::nullopt;
  SimulationOptions recording = options;
  recording.trace = Recording::off;
  recording.schedule = Recording::off;
  recording.call_stacks = Recording::off;
  recording.timeline = Recording::on;
  return recording;
}

bool is_same_run(const Report& report, const Report& again) {
  return report.outcome == again.outcome && report.counts == again.counts &&
         report.findings.size() == again.findings.size();
}

void settle_culprits(Report& report, const CallHistories& histories) {
  settle_first(report, find_consensus(histories, report.blocked), histories.ranks.size());
}

void settle_culprits(Report& report, Report clean, const CallHistories& histories) {
  const Finding* without = first_about_calls(clean);
  if (without == nullptr) return;
  const Consensus consensus = find_consensus(histories, clean.blocked);
  const Finding* found = first_about_calls(report);
  if (found != nullptr && found->id == without->id && found->ranks == without->ranks &&
      is_same_line(found->location, without->location))
    return settle_first(report, consensus, histories.ranks.size());
  settle_first(clean, consensus, histories.ranks.size());
  Finding& first = report.findings.front();
  if (!first.detail.empty()) first.detail += " ";
  first.detail += "Without the faults: " + first_about_calls(clean)->message;
}

}  // namespace gang::sim
