#include <algorithm>
#include <optional>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/commands/commands.h"
#include "harness/pipeline/plan_progress.h"
#include "harness/pipeline/schedule.h"
#include "harness/pipeline/schedule_timeline.h"
#include "harness/pipeline/stock_schedules.h"
#include "harness/text/output_file.h"
#include "sim/report/report.h"
#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

using nlohmann::json;

// One schedule and what is known about it: only complaints, if the schedule is not valid.
struct StudiedSchedule {
  std::string name;
  PipelineSchedule schedule;
  std::optional<ScheduleBounds> bounds = {};  // of a stock schedule
  ScheduleTimeline timeline = {};
  std::vector<int> peaks = {};
  PlanProgress one_by_one = {};           // under rendezvous
  PlanProgress one_by_one_buffered = {};  // with buffered sends
  PlanProgress batched = {};              // under rendezvous
  std::vector<std::string> complaints = {};
};

void study(StudiedSchedule& studied) {
  const PipelineSchedule& schedule = studied.schedule;
  studied.complaints = check_schedule(schedule);
  if (!studied.complaints.empty()) return;
  const MessagePlan one_by_one = plan_messages(schedule, SendForm::one_by_one);
  studied.timeline = timeline_of(schedule);
  studied.peaks = peak_activations(schedule);
  studied.one_by_one = check_progress(one_by_one, Sending::rendezvous);
  studied.one_by_one_buffered = check_progress(one_by_one, Sending::buffered);
  studied.batched = check_progress(plan_messages(schedule, SendForm::batched), Sending::rendezvous);
  if (studied.bounds) studied.complaints = check_bounds(schedule, *studied.bounds);
  if (!studied.batched.completes()) studied.complaints.push_back("Its batched messages deadlock.");
}

std::string verdict_text(const PlanProgress& progress, std::string_view condition) {
  if (!progress.complaint.empty()) return progress.complaint;
  return fmt::format("{} {}", progress.completes() ? "complete" : "DEADLOCK", condition);
}

std::string peaks_text(const std::vector<int>& peaks) {
  const int most = *std::ranges::max_element(peaks);
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < peaks.size(); ++rank)
    if (peaks[rank] == most) ranks.push_back(static_cast<int>(rank));
  return fmt::format("at most {} stored at a time ({} {})", most,
                     ranks.size() == 1 ? "rank" : "ranks", sim::to_rank_ranges(ranks, 4));
}

std::string bubble_text(const StudiedSchedule& studied) {
  std::string text = fmt::format("{:.1f} % of the time", 100 * studied.timeline.bubble_fraction());
  if (studied.bounds)
    text += fmt::format(", {} = {}/{}", studied.bounds->bubble_formula, studied.bounds->idle_units,
                        studied.bounds->total_units);
  return text;
}

std::string verdicts_text(const StudiedSchedule& studied) {
  std::string text = fmt::format("\n  Bubble       {}\n", bubble_text(studied));
  text += fmt::format("  Activations  {}\n", peaks_text(studied.peaks));
  text += fmt::format("  One by one   {}\n",
                      verdict_text(studied.one_by_one, "where sends wait for their receivers"));
  for (const StuckRank& stuck : studied.one_by_one.counterexample)
    text += fmt::format("                 {}\n", to_string(stuck));
  if (!studied.one_by_one.completes())
    text += fmt::format("               {}\n",
                        verdict_text(studied.one_by_one_buffered, "where sends are buffered"));
  text += fmt::format("  Batched      {}\n",
                      verdict_text(studied.batched, "where sends wait for their receivers"));
  return text;
}

std::string to_text(const StudiedSchedule& studied) {
  std::string text = fmt::format("{}: {}\n", studied.name, to_string(studied.schedule.sizes));
  if (!studied.timeline.by_rank.empty())
    text += draw(studied.timeline, studied.schedule.sizes) + verdicts_text(studied);
  if (!studied.complaints.empty()) text += '\n';
  for (const std::string& complaint : studied.complaints)
    text += sim::wrapped("WRONG: " + complaint, "  ");
  return text;
}

json to_json(const PlanProgress& progress) {
  json value = {{"completes", progress.completes()}};
  for (const StuckRank& stuck : progress.counterexample)
    value["counterexample"].push_back(to_string(stuck));
  if (!progress.complaint.empty()) value["complaint"] = progress.complaint;
  return value;
}

json ranks_to_json(const StudiedSchedule& studied) {
  json ranks = json::array();
  for (std::size_t rank = 0; rank < studied.timeline.by_rank.size(); ++rank) {
    json passes = json::array();
    for (const TimedPass& timed : studied.timeline.by_rank[rank])
      passes.push_back(
          {{"pass", to_string(timed.pass)}, {"start", timed.start}, {"end", timed.end}});
    ranks.push_back({{"passes", std::move(passes)},
                     {"idle", studied.timeline.idle_units(static_cast<int>(rank))},
                     {"peak_activations", studied.peaks[rank]}});
    if (studied.bounds) ranks.back()["most_activations"] = studied.bounds->most_activations[rank];
  }
  return ranks;
}

json to_json(const StudiedSchedule& studied) {
  const PipelineSizes& sizes = studied.schedule.sizes;
  json value = {{"format", "gangsim pipeline"},    {"version", 1},
                {"schedule", studied.name},        {"ranks", sizes.ranks},
                {"stages", sizes.stages()},        {"microbatches", sizes.microbatches},
                {"complaints", studied.complaints}};
  if (studied.timeline.by_rank.empty()) return value;
  value["length"] = studied.timeline.length;
  value["bubble"] = studied.timeline.bubble_fraction();
  if (studied.bounds) value["bubble_formula"] = studied.bounds->bubble_formula;
  value["by_rank"] = ranks_to_json(studied);
  value["one_by_one"] = to_json(studied.one_by_one);
  value["one_by_one_buffered"] = to_json(studied.one_by_one_buffered);
  value["batched"] = to_json(studied.batched);
  return value;
}

class PipelineCommand final : public Command {
 public:
  std::string name() const override { return "pipeline"; }
  std::string description() const override {
    return "draws a pipeline schedule, and proves or refutes it";
  }
  std::vector<std::string> examples() const override {
    return {"pipeline --schedule 1f1b --stages 4 --microbatches 8",
            "pipeline --schedule interleaved_1f1b --stages 8 --stages-per-rank 2",
            "pipeline --schedule zero_bubble_h1 --stages 4 --json schedule.json",
            "pipeline --file my_schedule.csv"};
  }

  std::vector<Option> options() override {
    constexpr int most = 1 << 22;
    return {text_option("--schedule", "NAME",
                        "gpipe, 1f1b, interleaved_1f1b or zero_bubble_h1 [1f1b]", schedule_),
            number_option("--stages", "stages of the model [4]", stages_, 1, most),
            number_option("--stages-per-rank", "stages of each rank [1; interleaved_1f1b: 2]",
                          stages_per_rank_, 1, most),
            number_option("--microbatches", "equal parts of the batch [2 per rank]", microbatches_,
                          1, most),
            text_option("--file", "CSV",
                        "a schedule of your own: a line per rank, its passes as 0F0,0F1,0B0,...",
                        file_),
            json_.option("the schedule and its figures as JSON")};
  }

  int run(CommandContext& context) override {
    const bool is_stock = schedule_ || stages_ || stages_per_rank_ || microbatches_;
    if (!file_.empty() && is_stock)
      throw InvalidArgument(
          "--file excludes --schedule, --stages, --stages-per-rank and "
          "--microbatches");
    StudiedSchedule studied = file_.empty() ? stock_schedule() : schedule_of_file();
    study(studied);
    json_.write([&studied] { return to_json(studied).dump() + "\n"; });
    context.out << to_text(studied);
    return studied.complaints.empty() ? exit_status::holds : exit_status::finding;
  }

 private:
  StudiedSchedule stock_schedule() const {
    const ScheduleKind kind = parse_schedule_kind(schedule_.value_or("1f1b"));
    const PipelineSizes sizes = sizes_of(kind);
    PipelineSchedule schedule = make_schedule(kind, sizes);
    return {.name = std::string{to_string(kind)},
            .schedule = std::move(schedule),
            .bounds = bounds_of(kind, sizes)};
  }

  StudiedSchedule schedule_of_file() const {
    return {.name = file_, .schedule = parse_schedule(read_file("--file", file_), file_)};
  }

  PipelineSizes sizes_of(ScheduleKind kind) const {
    const int per_rank = stages_per_rank_.value_or(kind == ScheduleKind::interleaved_1f1b ? 2 : 1);
    const int stages = stages_.value_or(4);
    if (stages % per_rank != 0) {
      const int more = (stages / per_rank + 1) * per_rank;
      const int fewer = more - per_rank;
      throw InvalidArgument(
          fmt::format("{} stages are not a multiple of {} stages per rank; {}{} would work", stages,
                      per_rank, fewer > 0 ? fmt::format("{} or ", fewer) : "", more));
    }
    const int ranks = stages / per_rank;
    return {.ranks = ranks,
            .stages_per_rank = per_rank,
            .microbatches = microbatches_.value_or(2 * ranks)};
  }

  std::optional<std::string> schedule_;
  std::optional<int> stages_;
  std::optional<int> stages_per_rank_;
  std::optional<int> microbatches_;
  std::string file_;
  FileOption json_{"--json"};
};

}  // namespace

std::unique_ptr<Command> make_pipeline_command() { return std::make_unique<PipelineCommand>(); }

}  // namespace gang::harness
