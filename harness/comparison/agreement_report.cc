#include "harness/comparison/agreement_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/text/version.h"
#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

std::size_t count_outputs(const Outputs& outputs) {
  std::size_t count = 0;
  for (const auto& of_rank : outputs.by_rank) count += of_rank.size();
  return count;
}

std::string problems_of(const RunResult& result) {
  std::string text;
  for (const sim::Finding& finding : result.report.findings)
    text += (text.empty() ? "" : " ") + sim::full_message(finding);
  return text;
}

std::string difference_text(const AgreementReport& report) {
  return to_string(*report.difference, to_string(report.left), to_string(report.right));
}

std::string equality_text(const AgreementReport& report) {
  if (report.left_verdict != "completed" && report.left_verdict != "wrong_result")
    return "not compared: the program does not complete";
  if (report.outputs == 0) return "none";
  if (report.allowed_units == 0) return fmt::format("all {} equal, bit for bit", report.outputs);
  return fmt::format("all {} equal except for rounding, {:g} units in the last place",
                     report.outputs, report.allowed_units);
}

std::string milliseconds_text(Duration duration) {
  return fmt::format("{:.1f} ms", std::chrono::duration<double, std::milli>(duration).count());
}

}  // namespace

std::string verdict_of(const sim::Report& report) {
  for (const sim::Finding& finding : report.findings)
    if (finding.id.starts_with("mismatch_")) return finding.id;
  const auto has = [&report](std::string_view id) {
    return std::ranges::any_of(report.findings, [id](const auto& one) { return one.id == id; });
  };
  if (has(sim::finding_id::rank_failed)) return "failed";
  if (report.outcome == sim::Outcome::deadlock || has(sim::finding_id::timed_out)) return "stuck";
  if (report.outcome != sim::Outcome::completed) return std::string{to_string(report.outcome)};
  return has(sim::finding_id::wrong_result) ? "wrong_result" : "completed";
}

AgreementReport compare_runs(const RunResult& left, const RunResult& right) {
  AgreementReport report{.program = left.specification.program,
                         .world_size = left.world_size,
                         .left = left.specification.backend,
                         .right = right.specification.backend,
                         .left_verdict = verdict_of(left.report),
                         .right_verdict = verdict_of(right.report),
                         .outputs = count_outputs(left.outputs),
                         .left_text = problems_of(left),
                         .right_text = problems_of(right),
                         .left_time = left.report.wall_time,
                         .right_time = right.report.wall_time,
                         .seed = right.specification.options.seed};
  const bool both_ended = left.report.outcome == sim::Outcome::completed &&
                          right.report.outcome == sim::Outcome::completed;
  if (!both_ended) return report;
  report.difference = first_difference(left.outputs, right.outputs);
  // The same algorithms give the same bits.
  const bool must_be_exact =
      report.left == BackendKind::sim_gloo && report.right == BackendKind::gloo;
  if (!report.difference || must_be_exact) return report;
  const Tolerance tolerance{.units_in_last_place = 2.0 * (report.world_size - 1),
                            .relative_to = Tolerance::RelativeTo::largest_of_output};
  report.difference = first_difference(left.outputs, right.outputs, tolerance);
  report.allowed_units = tolerance.units_in_last_place;
  return report;
}

std::string to_string(const AgreementReport& report) {
  std::string text = fmt::format(
      "{}  {}, world {}: {} and {}\n\n", report.agrees() ? "AGREE" : "DIFFER", report.program,
      report.world_size, to_string(report.left), to_string(report.right));
  const auto line = [&text](std::string_view name, std::string_view value) {
    // The name replaces the indent of the first line.
    const std::string lines = sim::wrapped(value, std::string(13, ' '));
    if (lines.empty()) return;  // nothing but spaces
    text += fmt::format("  {:<11}{}", name, std::string_view(lines).substr(13));
  };
  if (report.left_verdict == report.right_verdict)
    line("Outcome", fmt::format("{} on both", report.left_verdict));
  else
    line("Outcome", fmt::format("{} on {}, {} on {}", report.left_verdict, to_string(report.left),
                                report.right_verdict, to_string(report.right)));
  if (!report.left_text.empty()) line(to_string(report.left), report.left_text);
  if (!report.right_text.empty()) line(to_string(report.right), report.right_text);
  if (report.difference)
    line("Difference", difference_text(report));
  else if (report.left_verdict == report.right_verdict)
    line("Outputs", equality_text(report));
  line("Time", fmt::format("{} on {}, {} on {}", milliseconds_text(report.left_time),
                           to_string(report.left), milliseconds_text(report.right_time),
                           to_string(report.right)));
  return text + fmt::format("\n  Reproduce  {}\n", report.reproduce);
}

nlohmann::json to_json(const AgreementReport& report) {
  nlohmann::json value = {{"format", agreement_format},
                          {"version", agreement_version},
                          {"gangsim", version()},
                          {"seed", report.seed},
                          {"cases", report.cases},
                          {"shard", to_json(report.shard)},
                          {"agrees", report.agrees()},
                          {"program", report.program},
                          {"world", report.world_size},
                          {"backends", {to_string(report.left), to_string(report.right)}},
                          {"verdicts", {report.left_verdict, report.right_verdict}},
                          {"problems", {report.left_text, report.right_text}},
                          {"outputs", report.outputs},
                          {"allowed_units_in_last_place", report.allowed_units},
                          {"wall_times_ns", {report.left_time.count(), report.right_time.count()}},
                          {"reproduce", report.reproduce}};
  if (const auto& difference = report.difference) {
    value["difference"] = difference_text(report);
    value["first_difference"] = {{"rank", difference->rank},
                                 {"output", difference->output},
                                 {"element", difference->element},
                                 {"left", difference->left},
                                 {"right", difference->right}};
  }
  return value;
}

}  // namespace gang::harness
