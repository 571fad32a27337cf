#include "properties/runs_are_explained.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "harness/run/run_file.h"
#include "properties/law.h"
#include "properties/program_run.h"

namespace gang::properties {
namespace {

using sim::SliceStatus;
using sim::Timeline;
using sim::TimelineLane;
using sim::TimelineSlice;

// The rank that makes its gangs and returns; in one of world + 1 cases, none does.
int absent_rank(const GangProgram& program) {
  return static_cast<int>(program.run.seed % (static_cast<std::uint64_t>(program.world) + 1));
}

sim::Report run_with_timeline(const GangProgram& program, const Subject& subject) {
  const ProgramMemory memory(program);
  Image image = memory.initial_image();
  sim::SimulationOptions options = options_of(program);
  options.timeline = sim::Recording::on;
  return subject.simulate(options, [&](sim::SimulatedRank& rank) {
    const auto root = subject.wrapped(rank.root());
    if (rank.rank() == absent_rank(program)) {
      make_gangs(program, root, subject);
      return;
    }
    run_rank(memory, root, subject, image);
  });
}

std::string complaint_about_order(const TimelineLane& lane) {
  std::uint64_t before = 0;
  for (const TimelineSlice& slice : lane.slices) {
    if (slice.first_step <= before)
      return fmt::format("two operations of rank {} begin at step {}", lane.ranks.front(),
                         slice.first_step);
    if (slice.last_step < slice.first_step || slice.end < slice.start)
      return fmt::format("an operation of rank {} ends before it begins", lane.ranks.front());
    before = slice.first_step;
  }
  return {};
}

std::string complaint_about_count(const sim::Report& report) {
  std::uint64_t operations = 0;
  for (const TimelineLane& lane : report.timeline.lanes)
    operations += lane.ranks.size() * (lane.slices.size() + lane.left_out);
  if (operations == report.counts.rank_operations) return {};
  return fmt::format("the timeline has {} operations, but the run had {}", operations,
                     report.counts.rank_operations);
}

// A collective ends for all members at one step, and so not before the last of them has called.
std::string complaint_about_meeting(const Timeline& timeline) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> ends;
  for (const TimelineLane& lane : timeline.lanes) {
    for (const TimelineSlice& slice : lane.slices) {
      if (sim::is_message(timeline.calls[slice.call]) || slice.status != SliceStatus::complete)
        continue;
      const auto [known, is_first] =
          ends.emplace(std::pair(slice.gang, slice.sequence_number), slice.last_step);
      if (!is_first && known->second != slice.last_step)
        return fmt::format("#{} of {} ends both at step {} and at step {}", slice.sequence_number,
                           to_string(timeline.gangs[slice.gang]), known->second, slice.last_step);
    }
  }
  return {};
}

bool has_open_operation(const Timeline& timeline, int rank) {
  for (const TimelineLane& lane : timeline.lanes)
    if (std::ranges::binary_search(lane.ranks, rank))
      for (const TimelineSlice& slice : lane.slices)
        if (slice.status == SliceStatus::pending && slice.last_step == timeline.last_step)
          return true;
  return false;
}

std::string complaint_about_blocked(const sim::Report& report) {
  for (const sim::BlockedCall& blocked : report.blocked)
    if (!has_open_operation(report.timeline, blocked.rank))
      return fmt::format("rank {} is blocked, but has no operation that stays open", blocked.rank);
  return {};
}

Verdict judge_timeline(const sim::Report& report) {
  for (const TimelineLane& lane : report.timeline.lanes)
    if (std::string complaint = complaint_about_order(lane); !complaint.empty())
      return Verdict::violated(std::move(complaint));
  for (std::string complaint :
       {complaint_about_count(report), complaint_about_meeting(report.timeline),
        complaint_about_blocked(report)})
    if (!complaint.empty()) return Verdict::violated(std::move(complaint));
  return Verdict::holds();
}

Verdict judge_saved_run(const sim::Report& report, int world, const RunFileForm& form) {
  harness::RunResult result;
  result.report = report;
  result.world_size = world;
  result.specification.program = "a program.toml";
  result.reproduce = "gangsim run 'a program.toml'";
  const harness::RunResult again = form.parse(form.print(result));
  if (to_string(again) != to_string(result))
    return Verdict::violated("the saved run says:\n" + to_string(again));
  if (again.report.timeline != report.timeline)
    return Verdict::violated("the saved timeline is different");
  if (harness::to_file_text(again) != harness::to_file_text(result))
    return Verdict::violated("saved again, the run is a different file");
  return Verdict::holds();
}

Property law_of_runs(const char* name, const char* description,
                     std::function<Verdict(const GangProgram&)> verdict) {
  return to_property(Law<GangProgram>{
      .suite = "runs_are_explained",
      .name = name,
      .description = description,
      .cost = 20,
      .generate = [](Draw& draw) { return generate_program(draw, {.most_steps = 8}); },
      .verdict = std::move(verdict)});
}

}  // namespace

std::vector<Property> runs_are_explained(const Subject& subject, const RunFileForm& form) {
  return {law_of_runs("timelines_are_whole", "A timeline has every operation, in dependency order.",
                      [subject](const GangProgram& program) {
                        const sim::Report report = run_with_timeline(program, subject);
                        return judge_timeline(report).shown_by(report);
                      }),
          law_of_runs("saved_runs_say_the_same", "A saved run says what the run said.",
                      [subject, form](const GangProgram& program) {
                        const sim::Report report = run_with_timeline(program, subject);
                        return judge_saved_run(report, program.world, form).shown_by(report);
                      })};
}

}  // namespace gang::properties
