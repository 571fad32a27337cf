// What a RunResult says to people, in 80 columns.
#include <algorithm>

#include <fmt/format.h>

#include "gang/duration.h"
#include "harness/program/digest.h"
#include "harness/run/runner.h"
#include "sim/report/report_text.h"
#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

bool is_recording(const RunResult& result) {
  const sim::Certainty* certainty = sim::certainty_of(result.report);
  return certainty != nullptr && certainty->recorded;
}

// "suspect.toml, world 4, seed 1".
std::string what_was_run(const RunResult& result) {
  const std::string& program = result.specification.program;
  if (is_recording(result))
    return fmt::format("{}, world {}", program.substr(program.rfind('/') + 1), result.world_size);
  return fmt::format("{}, world {}, seed {}", program.substr(program.rfind('/') + 1),
                     result.world_size, result.specification.options.seed);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string summary(const RunResult& result) {
  const sim::Report& report = result.report;
  if (is_recording(result))
    return fmt::format("  Every recorded call has ended.\n  {} by {} in {}\n",
                       counted(report.counts.rank_operations, "call"),
                       counted(static_cast<std::uint64_t>(result.world_size), "rank"),
                       counted(report.counts.gangs, "gang"));
  const std::string_view end =
      report.faults.empty() ? "Every rank returned; nothing is blocked, nothing was left behind."
                            : "Every rank that was left returned; the faults were contained.";
  return fmt::format(
      "  {}\n"
      "  {} by {} in {}; {} virtual, {} real\n"
      "  result {}, trace {}\n",
      end, counted(report.counts.rank_operations, "operation"),
      counted(static_cast<std::uint64_t>(result.world_size), "rank"),
      counted(report.counts.gangs, "gang"), gang::to_string(report.virtual_time),
      gang::to_string(std::chrono::floor<std::chrono::microseconds>(report.wall_time)),
      to_hex(result.outputs.digest), to_hex(report.trace.digest));
}

// What has gone wrong as planned; the rest of a long list is counted.
void add_faults(const sim::Report& report, sim::MarkedText& text) {
  constexpr std::size_t most_named = 8;
  if (report.fault_plan && report.faults.empty() && report.findings.empty())
    text.add_advice("Faults", "none of those planned happened in this run");
  if (!report.faults.empty()) text.add("\n");
  for (std::size_t i = 0; i < std::min(most_named, report.faults.size()); ++i) {
    const sim::FiredFault& fault = report.faults[i];
    std::string line = fault.description;
    if (fault.count > 1) line += fmt::format(", {} times", fault.count);
    if (fault.time > Duration::zero()) line += " at " + gang::to_string(fault.time);
    text.add_advice(i == 0 ? "Faults" : "", line);
  }
  if (report.faults.size() > most_named)
    text.add_advice("", fmt::format("and {} more", report.faults.size() - most_named));
}

// The first few contested choices.
std::string choices_text(const RunResult& result) {
  constexpr std::size_t most_shown = 3;
  std::string text;
  const auto add = [&text](const std::string& item) {
    std::string lines = sim::wrapped(item, "      ");
    lines.replace(0, 6, "    - ");
    text += lines;
  };
  const std::size_t shown = std::min(most_shown, result.choices.size());
  for (std::size_t i = 0; i < shown; ++i) add(result.choices[i]);
  if (shown > 0 && result.contested_choices > shown)
    add(fmt::format("and {} more", result.contested_choices - shown));
  return text;
}

void add_real_time(const RealTime& time, sim::MarkedText& text) {
  for (const Advice& advice : advice_on(time)) text.add_advice(advice.kind, advice.text);
}

}  // namespace

bool is_failure(const RunResult& result) {
  return result.specification.faults ? !result.uncontained.empty() : !result.holds();
}

bool is_nondeterministic(const RunResult& result) {
  return !result.report.findings.empty() &&
         result.report.findings.front().id == sim::finding_id::nondeterminism;
}

std::string decisive_text(const RunResult& result) {
  if (result.decisive.empty()) return "";
  return result.decisive + ". Decided the other way, the run holds.";
}

std::string contested_text(const RunResult& result) {
  if (result.explore.empty()) return "";
  const std::string choices = result.contested_choices == 0
                                  ? "choices that were not counted"
                                  : counted(result.contested_choices, "choice");
  return fmt::format("{}, decided by: {}", choices, result.explore);
}

sim::MarkedText marked_text(const RunResult& result) {
  const sim::Report& report = result.report;
  sim::MarkedText text = sim::headline(report, what_was_run(result));
  if (result.holds()) text.add("\n" + summary(result));
  if (result.holds() && result.is_in_every_schedule) text.add("  every schedule ends like this\n");
  if (const std::string contested = contested_text(result); result.holds() && !contested.empty())
    text.add("  contested: " + contested + "\n" + choices_text(result));
  text.add(sim::explanation(report));  // of a run that holds: the errors that it has handled
  add_real_time(result.real_time, text);
  add_faults(report, text);
  if (result.holds()) {
    if (!result.uncontained.empty() && !report.faults.empty())
      text.add("\n" + sim::wrapped("Not contained: " + result.uncontained, "  "));
  } else {
    text.add("\n");
    if (!result.decisive.empty()) text.add_advice("Decisive", decisive_text(result));
    if (const std::string contested = contested_text(result); !contested.empty())
      text.add_command("Contested", contested);
    text.add_command("Reproduce", result.reproduce);
  }
  if (!result.unexpected.empty()) {
    text.add("\n");
    text.add_command("Unexpected", result.unexpected);
  }
  return text;
}

std::string to_string(const RunResult& result) { return plain_text(marked_text(result)); }

}  // namespace gang::harness
