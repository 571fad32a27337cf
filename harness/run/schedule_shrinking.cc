#include "harness/run/schedule_shrinking.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "harness/run/exploration.h"
#include "harness/run/fault_check.h"
#include "sim/schedule/guide.h"

namespace gang::harness {
namespace {

std::string id_of_first(const RunResult& result) {
  return result.report.findings.empty() ? "" : result.report.findings.front().id;
}

// Whether `run` fails as `failure` does.
bool ends_alike(const RunResult& failure, const RunResult& run) {
  if (failure.report.outcome != run.report.outcome) return false;
  // No run by itself shows that outputs depend on messages.
  if (id_of_first(failure) == sim::finding_id::message_race)
    return run.holds() && failure.outputs.digest == run.outputs.digest;
  return is_failure(run) && id_of_first(failure) == id_of_first(run);
}

}  // namespace

RunWithDetours run_with_detours(const Program& program, const RunSpecification& specification,
                                const std::vector<sim::Detour>& detours,
                                const RunRecording& recording, std::string_view binary) {
  RunSpecification guided = specification;
  guided.schedule = ScheduleChoice::round_robin;
  const auto guide = std::make_shared<sim::Guide>();
  auto detour_sampler = sim::make_detour_sampler(detours, guide->log());
  const sim::DetourSampler& made = *detour_sampler;
  const sim::Knowledge none;
  guide->sample(std::move(detour_sampler), none);
  RunRecording recorded = recording;
  recorded.schedule = sim::Recording::on;
  recorded.settles = false;  // further runs would use up the guide
  recorded.guide = guide;
  RunWithDetours with_detours{.result = run(program, guided, recorded, binary)};
  with_detours.left = made.left();
  with_detours.detours = sim::detours_of(guide->log());
  return with_detours;
}

SimplerSchedule simplify_schedule(const Program& program, const RunResult& failure,
                                  const std::vector<sim::Detour>& detours,
                                  std::size_t most_attempts) {
  SimplerSchedule simpler;
  const RunRecording recording{.clean = clean_outputs(program, failure.specification)};
  const auto attempt = [&](const std::vector<sim::Detour>& fewer) {
    ++simpler.attempts;
    RunWithDetours tried = run_with_detours(program, failure.specification, fewer, recording);
    if (!ends_alike(failure, tried.result)) return false;
    simpler.run = std::move(tried);
    return true;
  };
  if (!attempt(detours)) {  // what it fails by takes further runs to be seen
    simpler.run = {.result = failure, .detours = detours};
    return simpler;
  }
  // Leaves out blocks of half of them, then of a quarter, and so on.
  std::size_t block = detours.size();
  while (block > 0) {
    bool is_simpler = false;
    for (std::size_t begin = 0; begin < simpler.run.detours.size();) {
      if (simpler.attempts >= most_attempts) return simpler;
      std::vector<sim::Detour> fewer = simpler.run.detours;
      const std::size_t before = fewer.size();
      const auto first = fewer.begin() + static_cast<std::ptrdiff_t>(begin);
      fewer.erase(first, first + static_cast<std::ptrdiff_t>(std::min(block, before - begin)));
      if (attempt(fewer) && simpler.run.detours.size() < before)
        is_simpler = true;
      else
        begin += block;
    }
    if (block > 1 || !is_simpler) block /= 2;
  }
  return simpler;
}

}  // namespace gang::harness
