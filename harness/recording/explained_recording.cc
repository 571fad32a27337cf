#include "harness/recording/explained_recording.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "harness/recording/open_calls.h"
#include "harness/recording/recorded_history.h"
#include "harness/recording/replay.h"
#include "sim/further_runs/settled_culprits.h"
#include "sim/report/rank_text.h"

namespace gang::harness {
namespace {

SourceLocation place_of(const Recording& recording, const RankCall& call) {
  const CallSite& site = recording.calls[call.call].call_site;
  return *site.file() == '\0' ? SourceLocation() : location_of(site);
}

// The first open call of each rank, in their order.
std::vector<sim::BlockedCall> first_open_calls(const Recording& recording, const OpenCalls& open) {
  std::vector<sim::BlockedCall> blocked;
  for (std::size_t rank = 0; rank < open.of_rank.size(); ++rank) {
    if (open.of_rank[rank].empty()) continue;
    const RankCall& call = recording.ranks[rank].calls[open.of_rank[rank].front()];
    blocked.push_back({.rank = static_cast<int>(rank),
                       .gang = label_of(recording.groups[call.group]),
                       .call = text_of(recording, call),
                       .location = place_of(recording, call)});
  }
  return blocked;
}

// Of calls that all their members made, and that have not ended: the one that was made first.
sim::Finding unfinished(const Recording& recording, const OpenCalls& open) {
  const RankCall* first = nullptr;
  for (std::size_t rank = 0; rank < open.of_rank.size(); ++rank)
    for (const std::uint32_t place : open.of_rank[rank])
      if (const RankCall& call = recording.ranks[rank].calls[place];
          first == nullptr || call.created_ns < first->created_ns)
        first = &call;
  sim::Finding finding{.id = std::string(sim::finding_id::deadlock)};
  const RecordedGroup& group = recording.groups[first->group];
  finding.ranks = group.ranks;
  std::ranges::sort(finding.ranks);
  finding.gang = label_of(group);
  finding.call = text_of(recording, *first);
  finding.location = place_of(recording, *first);
  finding.message =
      fmt::format("{} called {} on {}{}, and it has not ended.",
                  sim::capitalised(sim::ranks_text(finding.ranks)), to_string(finding.call),
                  to_string(finding.gang),
                  finding.location.empty() ? "" : " at " + to_string(finding.location));
  finding.detail =
      "No rank is missing and all calls agree: look at the devices and at the network.";
  return finding;
}

void name_certainty(const Recording& recording, const OpenCalls& open, sim::Report& report) {
  sim::RecordedEvidence evidence = recording.evidence;
  if (!open.early.empty())
    evidence.notes.push_back(fmt::format(
        "{} older than those of the others",
        sim::ranks_do({open.early.begin(), open.early.end()}, "has a dump", "have dumps")));
  const auto name = [&evidence](std::optional<sim::Certainty>& certainty) {
    if (!certainty) certainty.emplace();
    certainty->recorded = evidence;
  };
  name(report.certainty);
  for (sim::Finding& finding : report.findings) name(finding.certainty);
}

}  // namespace

RunResult explain(const Recording& recording, const std::string& name, const std::string& command) {
  const OpenCalls open = find_open_calls(recording);
  RunResult result;
  sim::Report& report = result.report;
  report = replay_open_calls(recording, open);
  report.histories = std::make_shared<const sim::CallHistories>(histories_of(recording, open));
  report.timeline = timeline_of(recording, open, *report.histories);
  if (report.findings.empty() && !open.empty()) {
    report.findings.push_back(unfinished(recording, open));
    report.blocked = first_open_calls(recording, open);
  } else {
    sim::settle_culprits(report, *report.histories);
  }
  if (!report.findings.empty()) report.outcome = sim::Outcome::deadlock;
  name_certainty(recording, open, report);
  report.counts = {};
  for (const RankRecording& rank : recording.ranks)
    report.counts.rank_operations += rank.calls.size();
  report.counts.gangs = recording.groups.size();
  result.specification.program = name;
  result.specification.world_size = recording.world_size();
  result.world_size = recording.world_size();
  result.reproduce = command;
  return result;
}

}  // namespace gang::harness
