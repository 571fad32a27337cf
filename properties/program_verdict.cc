#include "properties/program_verdict.h"

#include <fmt/format.h>

#include "properties/program_memory.h"

namespace gang::properties {

std::string problem_of(const sim::Report& report) {
  if (report.holds()) return {};
  if (!report.findings.empty()) {
    const sim::Finding& finding = report.findings.front();
    return fmt::format("the run ended as '{}' with finding {}: {}", to_string(report.outcome),
                       finding.id, sim::full_message(finding));
  }
  return fmt::format("the run ended as '{}'{}{}", to_string(report.outcome),
                     report.divergence.empty() ? "" : ": ", report.divergence);
}

std::string problem_of(const std::vector<sim::Finding>& findings, std::string_view expected) {
  if (findings.size() == 1 && findings.front().id == expected) return {};
  std::vector<std::string> ids;
  for (const sim::Finding& finding : findings) ids.push_back(finding.id);
  return fmt::format("the findings are [{}], expected one {}", fmt::join(ids, ", "), expected);
}

Verdict judge_against_model(const ProgramMemory& memory, const sim::SimulationOptions& options,
                            const Subject& subject) {
  const ProgramRun run = run_program(memory, options, subject);
  if (std::string problem = problem_of(run.report); !problem.empty())
    return Verdict::violated(std::move(problem)).shown_by(run.report);
  if (auto difference = memory.first_difference(expected_image(memory), run.image))
    return Verdict::violated(std::move(*difference)).shown_by(run.report);
  return Verdict::holds();
}

Verdict judge_against_model(const GangProgram& program, const Subject& subject) {
  const ProgramMemory memory(program);
  return judge_against_model(memory, options_of(program), subject);
}

}  // namespace gang::properties
