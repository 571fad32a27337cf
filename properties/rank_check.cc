#include "properties/rank_check.h"

#include <vector>

#include <fmt/format.h>

#include "properties/program_verdict.h"

namespace gang::properties {

CheckedRun run_checked(const sim::SimulationOptions& options, const Subject& subject,
                       const RankCheck& check) {
  std::vector<std::string> complaints(static_cast<std::size_t>(options.world_size));
  CheckedRun run;
  run.report = subject.simulate(options, [&check, &complaints](sim::SimulatedRank& rank) {
    complaints[static_cast<std::size_t>(rank.rank())] = check(rank);
  });
  for (std::size_t rank = 0; rank < complaints.size() && run.complaint.empty(); ++rank)
    if (!complaints[rank].empty())
      run.complaint = fmt::format("rank {}: {}", rank, complaints[rank]);
  return run;
}

Verdict judge_ranks(const sim::SimulationOptions& options, const Subject& subject,
                    const RankCheck& check) {
  const CheckedRun run = run_checked(options, subject, check);
  if (!run.complaint.empty()) return Verdict::violated(run.complaint).shown_by(run.report);
  if (std::string problem = problem_of(run.report); !problem.empty())
    return Verdict::violated(std::move(problem)).shown_by(run.report);
  return Verdict::holds();
}

}  // namespace gang::properties
