// What a RunResult says to people, in 80 columns.
#include <algorithm>

#include <fmt/format.h>

#include "gang/duration.h"
#include "harness/program/digest.h"
#include "harness/run/runner.h"
#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

constexpr std::size_t columns = 80;

// What the report begins with, and at the right margin what was run:
// "DEADLOCK  cross_gang_cycle                       suspect.toml, world 4, seed 1".
std::string headline(std::string_view verdict, const RunResult& result) {
  const std::string& program = result.specification.program;
  const std::string run =
      fmt::format("{}, world {}, seed {}", program.substr(program.rfind('/') + 1),
                  result.world_size, result.specification.seed);
  const std::size_t width = verdict.size() + run.size();
  return fmt::format("{}{:{}}{}", verdict, "", width + 2 < columns ? columns - width : 2, run);
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string summary(const RunResult& result) {
  const sim::Report& report = result.report;
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
std::string faults_of(const sim::Report& report) {
  constexpr std::size_t most_named = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most_named, report.faults.size()); ++i) {
    const sim::FiredFault& fault = report.faults[i];
    std::string line = fault.description;
    if (fault.count > 1) line += fmt::format(", {} times", fault.count);
    if (fault.time > Duration::zero()) line += " at " + gang::to_string(fault.time);
    const std::string lines = sim::wrapped(line, "             ");
    text += (i == 0 ? "  Faults     " : "             ") + lines.substr(13);
  }
  if (report.faults.size() > most_named)
    text += fmt::format("             and {} more\n", report.faults.size() - most_named);
  return text.empty() ? text : "\n" + text;
}

std::string uncontained(const RunResult& result) {
  return result.uncontained.empty() || result.report.faults.empty()
             ? ""
             : "\n" + sim::wrapped("Not contained: " + result.uncontained, "  ");
}

std::string unexpected(const RunResult& result) {
  return result.unexpected.empty() ? "" : fmt::format("\n  Unexpected  {}\n", result.unexpected);
}

}  // namespace

std::string to_string(const RunResult& result) {
  if (result.holds())
    return headline("COMPLETED", result) + "\n\n" + summary(result) + faults_of(result.report) +
           uncontained(result) + unexpected(result);
  std::string report = sim::to_string(result.report);
  if (!report.ends_with('\n')) report += '\n';
  const std::size_t first_line = report.find('\n');
  return headline(std::string_view{report}.substr(0, first_line), result) +
         report.substr(first_line) + faults_of(result.report) +
         fmt::format("\n  Reproduce  {}\n", result.reproduce) + unexpected(result);
}

}  // namespace gang::harness
