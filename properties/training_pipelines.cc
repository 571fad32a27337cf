#include "properties/training_pipelines.h"

#include <fmt/format.h>

#include "harness/cost/cost_account.h"
#include "harness/run/runner.h"
#include "properties/generators/hybrid_case.h"

namespace gang::properties {
namespace {

using harness::Program;
using harness::RunResult;
using harness::RunSpecification;

constexpr std::uint64_t cost_of_hybrid_run = 300;

Law<HybridCase> hybrid_law(std::string name, std::string description, std::uint64_t cost) {
  return {.suite = "training_pipelines",
          .name = std::move(name),
          .description = std::move(description),
          .cost = cost,
          .generate = generate_hybrid};
}

Verdict holds(const RunResult& result) {
  return result.holds() ? Verdict::holds()
                        : Verdict::violated(to_string(result)).shown_by(result.report);
}

Property equals_one_process(const Program& hybrid) {
  auto law = hybrid_law(
      "hybrid_equals_one_process",
      "Losses and parameters of every step, replicas and stored activations are as planned.",
      cost_of_hybrid_run);
  law.verdict = [hybrid](const HybridCase& one) {
    return holds(run(hybrid, specification_of(one)));
  };
  return to_property(law);
}

Property results_are_the_same(const Program& hybrid) {
  auto law = hybrid_law("hybrid_results_do_not_depend_on_the_schedule",
                        "Results depend neither on the order of ranks nor on fibers or threads.",
                        3 * cost_of_hybrid_run);
  law.verdict = [hybrid](const HybridCase& one) {
    RunSpecification specification = specification_of(one);
    const RunResult first = run(hybrid, specification);
    if (!first.holds()) return holds(first);
    specification.schedule = harness::ScheduleChoice::random;
    specification.options.seed = one.seed + 1000;
    specification.options.execution = sim::ExecutionModel::stream_ordered;
    specification.options.context = sim::ContextKind::thread;
    const RunResult second = run(hybrid, specification);
    if (!second.holds()) return holds(second);
    if (first.outputs.digest == second.outputs.digest) return Verdict::holds();
    return Verdict::violated(
        fmt::format("results {:016x} on fibers, but {:016x} on threads, ordered by streams",
                    first.outputs.digest, second.outputs.digest));
  };
  return to_property(law);
}

// The same stages and microbatches, with numbers that are exact in every order of summation.
RunSpecification exact_run(HybridCase one, harness::ScheduleKind schedule) {
  one.options.model = "mlp";
  one.options.layers = 4;
  one.options.stages_per_rank = 1;
  one.options.schedule = to_string(schedule);
  return specification_of(one);
}

Property schedules_agree(const Program& hybrid) {
  auto law = hybrid_law("hybrid_pipeline_schedules_agree",
                        "GPipe, 1F1B and ZB-H1 give the same bits where sums are exact.",
                        3 * cost_of_hybrid_run);
  law.verdict = [hybrid](const HybridCase& one) {
    using harness::ScheduleKind;
    const RunResult expected = run(hybrid, exact_run(one, ScheduleKind::gpipe));
    if (!expected.holds()) return holds(expected);
    for (const ScheduleKind kind : {ScheduleKind::one_f_one_b, ScheduleKind::zero_bubble_h1}) {
      const RunResult result = run(hybrid, exact_run(one, kind));
      if (!result.holds()) return holds(result);
      if (result.outputs.digest == expected.outputs.digest) continue;
      return Verdict::violated(fmt::format("results {:016x} under gpipe, {:016x} under {}",
                                           expected.outputs.digest, result.outputs.digest,
                                           to_string(kind)));
    }
    return Verdict::holds();
  };
  return to_property(law);
}

harness::RankCounts counts_of(const Program& hybrid, RunSpecification specification,
                              const std::string& mode) {
  specification.parameters["mode"] = mode;
  const RunResult result = run(counted(hybrid), specification);
  if (!result.holds()) throw InvalidOperation(to_string(result));
  return harness::counts_of(result);
}

Property communicates_the_same(const Program& hybrid) {
  auto law = hybrid_law("hybrid_communicates_the_same_without_arithmetic",
                        "mode=communication calls the same operations with the same bytes.",
                        2 * cost_of_hybrid_run);
  law.verdict = [hybrid](const HybridCase& one) {
    const RunSpecification specification = specification_of(one);
    const bool are_equal = counts_of(hybrid, specification, "numeric") ==
                           counts_of(hybrid, specification, "communication");
    return are_equal
               ? Verdict::holds()
               : Verdict::violated("a rank calls different operations, or with different sizes");
  };
  return to_property(law);
}

}  // namespace

std::vector<Property> training_pipelines(const Program& hybrid) {
  return {equals_one_process(hybrid), results_are_the_same(hybrid), schedules_agree(hybrid),
          communicates_the_same(hybrid)};
}

}  // namespace gang::properties
