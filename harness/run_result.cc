// What a RunResult says to people, in 80 columns.
#include <fmt/format.h>

#include "gang/duration.h"
#include "harness/digest.h"
#include "harness/runner.h"

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
  return fmt::format(
      "  Every rank returned; nothing is blocked, nothing was left behind.\n"
      "  {} by {} in {}; {} virtual, {} real\n"
      "  result {}, trace {}\n",
      counted(report.counts.rank_operations, "operation"),
      counted(static_cast<std::uint64_t>(result.world_size), "rank"),
      counted(report.counts.gangs, "gang"), gang::to_string(report.virtual_time),
      gang::to_string(std::chrono::floor<std::chrono::microseconds>(report.wall_time)),
      to_hex(result.outputs.digest), to_hex(report.trace.digest));
}

std::string unexpected(const RunResult& result) {
  return result.unexpected.empty() ? "" : fmt::format("\n  Unexpected  {}\n", result.unexpected);
}

}  // namespace

std::string to_string(const RunResult& result) {
  if (result.holds())
    return headline("COMPLETED", result) + "\n\n" + summary(result) + unexpected(result);
  std::string report = sim::to_string(result.report);
  if (!report.ends_with('\n')) report += '\n';
  const std::size_t first_line = report.find('\n');
  return headline(std::string_view{report}.substr(0, first_line), result) +
         report.substr(first_line) + fmt::format("\n  Reproduce  {}\n", result.reproduce) +
         unexpected(result);
}

}  // namespace gang::harness
