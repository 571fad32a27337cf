// The forms of a RunResult: JSON for machines, 80 columns for people.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/duration.h"
#include "harness/digest.h"
#include "harness/runner.h"

namespace gang::harness {
namespace {

constexpr std::size_t columns = 80;

std::string upper_case(std::string_view text) {
  std::string upper{text};
  for (char& character : upper) {
    character = character == '_' ? ' ' : static_cast<char>(std::toupper(character));
  }
  return upper;
}

// "DEADLOCK  cross_gang_cycle                       suspect.toml, world 4, seed 1"
std::string headline(const RunResult& result) {
  const sim::Report& report = result.report;
  const bool is_finding = report.outcome == sim::Outcome::completed && !report.findings.empty();
  std::string left = is_finding ? "FINDING" : upper_case(to_string(report.outcome));
  if (!report.findings.empty()) left += "  " + report.findings.front().id;
  const std::string& program = result.specification.program;
  const std::string right =
      fmt::format("{}, world {}, seed {}", program.substr(program.rfind('/') + 1),
                  result.world_size, result.specification.seed);
  const std::size_t width = left.size() + right.size();
  return left + std::string(width + 2 < columns ? columns - width : 2, ' ') + right;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string summary(const RunResult& result) {
  const sim::Report& report = result.report;
  return fmt::format(
      "  {} by {} in {}; {} virtual, {} real\n"
      "  result {}, trace {}\n",
      counted(report.counts.rank_operations, "operation"),
      counted(static_cast<std::uint64_t>(result.world_size), "rank"),
      counted(report.counts.gangs, "gang"), gang::to_string(report.virtual_time),
      gang::to_string(std::chrono::floor<std::chrono::microseconds>(report.wall_time)),
      to_hex(result.outputs.digest), to_hex(report.trace.digest));
}

}  // namespace

nlohmann::json to_json(const RunResult& result) {
  const sim::Report& report = result.report;
  nlohmann::json findings = nlohmann::json::array();
  for (const sim::Finding& finding : report.findings) findings.push_back(sim::to_json(finding));
  nlohmann::json blocked = nlohmann::json::array();
  for (const sim::BlockedCall& call : report.blocked) blocked.push_back(sim::to_json(call));
  return {{"outcome", to_string(report.outcome)},
          {"program", result.specification.program},
          {"world", result.world_size},
          {"backend", result.specification.backend},
          {"context", to_string(result.specification.context)},
          {"seed", result.specification.seed},
          {"findings", std::move(findings)},
          {"blocked", std::move(blocked)},
          {"virtual_time_ns", report.virtual_time.count()},
          {"wall_time_ns", report.wall_time.count()},
          {"rank_operations", report.counts.rank_operations},
          {"switches", report.counts.switches},
          {"gangs", report.counts.gangs},
          {"trace_digest", to_hex(report.trace.digest)},
          {"result_digest", to_hex(result.outputs.digest)},
          {"reproduce", result.reproduce}};
}

std::string to_string(const RunResult& result) {
  std::string text = headline(result) + "\n\n";
  if (result.holds()) return text + summary(result);
  text += sim::to_string(result.report);
  if (!text.ends_with('\n')) text += '\n';
  return text + fmt::format("\n  Reproduce  {}\n", result.reproduce);
}

}  // namespace gang::harness
