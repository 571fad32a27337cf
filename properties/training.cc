#include "properties/training.h"

#include <algorithm>

#include <fmt/format.h>

#include "harness/program_file/program_source.h"
#include "harness/programs/all_programs.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "properties/generators/training_case.h"
#include "properties/program_verdict.h"

namespace gang::properties {
namespace {

using harness::FaultyProgram;
using harness::Output;
using harness::RunResult;

// A run takes milliseconds, since every rank also trains alone.
constexpr std::uint64_t cost_of_training = 100;

RunResult run(const TrainingSubject& subject, const TrainingCase& one) {
  return subject.run(*one.program, one.specification(), {.outputs = harness::KeepOutputs::data});
}

// A run without findings has nothing to show but its time.
Verdict violated(const std::string& message, const RunResult& result) {
  const std::string run = result.holds() ? "" : "\n" + to_string(result);
  return Verdict::violated(message + run).shown_by(result.report);
}

Verdict judge_result(const TrainingSubject& subject, const TrainingCase& one) {
  const RunResult result = run(subject, one);
  return result.holds() ? Verdict::holds()
                        : violated("the result is not that of one process", result);
}

// The first of the ranks that have the same part of the model as `rank`.
int first_replica(const TrainingCase& one, int rank) {
  if (one.program->name == "ddp") return 0;
  if (one.program->name == "data_parallel") return rank;
  if (one.program->name != "fsdp") return rank % one.parameter("tp", 1);
  const int intra_node = one.parameter("intra_node", 0);
  return intra_node == 0 ? rank : rank % intra_node;
}

Verdict judge_replicas(const TrainingSubject& subject, const TrainingCase& one) {
  const RunResult result = run(subject, one);
  const auto& outputs = result.outputs.by_rank;
  for (int rank = 0; rank < one.world; ++rank) {
    const int first = first_replica(one, rank);
    if (outputs[static_cast<std::size_t>(rank)] != outputs[static_cast<std::size_t>(first)])
      return violated(
          fmt::format("ranks {} and {} have the same part of the model, but different bits", first,
                      rank),
          result);
  }
  return Verdict::holds();
}

// Round robin on fibers with independent gangs, against the schedule, context and execution drawn.
Verdict judge_schedules(const TrainingSubject& subject, const TrainingCase& one) {
  TrainingCase plain = one;
  plain.seed = 0;
  plain.execution = sim::ExecutionModel::independent;
  plain.context = sim::ContextKind::fiber;
  const RunResult result = run(subject, one);
  if (run(subject, plain).outputs.digest == result.outputs.digest) return Verdict::holds();
  return violated("the result depends on the schedule", result);
}

// The shards of the ranks that divide the model hold its elements and, for every unit, at most one
// element of padding less than there are ranks.
Verdict judge_shards(const TrainingSubject& subject, const TrainingCase& one) {
  if (one.program->name != "fsdp") return Verdict::not_applicable();
  TrainingCase alone = one;
  alone.world = 1;
  alone.parameters["intra_node"] = "0";
  const auto elements_of = [](const std::vector<Output>& outputs) {
    std::int64_t elements = 0;
    for (const Output& output : outputs) elements += output.name == "shard" ? output.count : 0;
    return elements;
  };
  const std::int64_t whole = elements_of(run(subject, alone).outputs.by_rank.at(0));
  const int intra_node = one.parameter("intra_node", 0);
  const std::int64_t parts = intra_node == 0 ? one.world : intra_node;
  const std::int64_t padding = one.parameter("units", 1) * (parts - 1);
  const RunResult result = run(subject, one);
  for (const auto& outputs : result.outputs.by_rank) {
    const std::int64_t all = elements_of(outputs) * parts;
    if (all < whole || all > whole + padding)
      return violated(fmt::format("{} shards of {} elements for a model of {}", parts,
                                  elements_of(outputs), whole),
                      result);
  }
  return Verdict::holds();
}

// A wrong trainer, or its corrected twin, in a larger world.
struct TwinCase {
  const FaultyProgram* faulty = nullptr;
  bool is_fixed = false;
  int factor = 1;  // of its default world
  std::uint64_t seed = 0;
};

std::string to_text(const TwinCase& twin) {
  return fmt::format("{}{}, world {}, {}", twin.faulty->name, twin.is_fixed ? " fixed" : "",
                     twin.factor * twin.faulty->default_world_size,
                     twin.seed == 0 ? "round robin" : fmt::format("random seed {}", twin.seed));
}

std::vector<TwinCase> shrinks(const TwinCase& twin) {
  std::vector<TwinCase> simpler;
  if (twin.seed != 0) simpler.push_back({twin.faulty, twin.is_fixed, twin.factor, 0});
  if (twin.factor > 1) simpler.push_back({twin.faulty, twin.is_fixed, 1, twin.seed});
  return simpler;
}

Verdict judge_twin(const TrainingSubject& subject, const TwinCase& twin) {
  const harness::Program program = to_program(*twin.faulty);
  harness::RunSpecification specification =
      harness::find_program_source({program}, program.name).specification;
  specification.world_size = twin.factor * twin.faulty->default_world_size;
  specification.parameters["fixed"] = twin.is_fixed ? "true" : "false";
  if (twin.seed != 0) {
    specification.options.seed = twin.seed;
    specification.schedule = harness::ScheduleChoice::random;
  }
  const RunResult result = subject.run(program, specification, {});
  const auto& findings = result.report.findings;
  if (twin.is_fixed)
    return findings.empty() ? Verdict::holds()
                            : violated("the corrected program has findings", result);
  const std::string problem = problem_of(findings, twin.faulty->finding);
  return problem.empty() ? Verdict::holds() : violated(problem, result);
}

using JudgeTraining = Verdict (*)(const TrainingSubject&, const TrainingCase&);

constexpr LawRow<JudgeTraining> training_laws[] = {
    {"programs_equal_one_process", "Losses and parameters of every step are those of one process.",
     judge_result, cost_of_training},
    {"replicas_are_equal", "Ranks with the same part of the model have the same bits.",
     judge_replicas, cost_of_training},
    {"schedules_do_not_matter", "Results are equal under any schedule, context and execution.",
     judge_schedules, cost_of_training},
    {"shards_match_the_plan", "Shards add up to the model and its padding.", judge_shards,
     cost_of_training},
};

Property law_of_twins(const std::shared_ptr<const TrainingSubject>& subject) {
  return to_property(Law<TwinCase>{
      .suite = "training",
      .name = "wrong_trainers_are_found",
      .description = "In any world and schedule, a wrong trainer has its finding, its twin none.",
      .cost = cost_of_training / 5,
      .generate = [subject](Draw& draw) -> TwinCase {
        const auto index = draw.random.below(subject->faulty.size());
        return {.faulty = &subject->faulty[index],
                .is_fixed = draw.one_in(2),
                .factor = draw.between(1, 3),
                .seed = draw.random.below(1000)};
      },
      .verdict = [subject](const TwinCase& twin) { return judge_twin(*subject, twin); }});
}

}  // namespace

TrainingSubject make_training_subject() {
  TrainingSubject subject;
  subject.programs = {harness::data_parallel_program(), harness::ddp_program(),
                      harness::fsdp_program(), harness::tp_program(), harness::trainer_program()};
  for (const auto& some : {harness::agreements(), harness::training_layouts()})
    subject.faulty.insert(subject.faulty.end(), some.begin(), some.end());
  subject.run = [](const harness::Program& program, const harness::RunSpecification& specification,
                   const harness::RunRecording& recording) {
    return harness::run(program, specification, recording);
  };
  return subject;
}

TrainingSubject make_training_subject_on(harness::BackendKind backend) {
  TrainingSubject subject = make_training_subject();
  subject.faulty.clear();
  subject.run = [backend](const harness::Program& program, harness::RunSpecification specification,
                          const harness::RunRecording& recording) {
    specification.backend = backend;
    return harness::run(program, specification, recording);
  };
  return subject;
}

std::vector<Property> training(const TrainingSubject& subject) {
  const auto shared = std::make_shared<const TrainingSubject>(subject);
  const auto generate = [shared](Draw& draw) { return generate_training(draw, shared->programs); };
  std::vector<Property> all = laws_of<TrainingCase>(
      training_laws, {.suite = "training", .generate = generate},
      [shared](JudgeTraining judge, const TrainingCase& one) { return judge(*shared, one); });
  if (!subject.faulty.empty()) all.push_back(law_of_twins(shared));
  return all;
}

}  // namespace gang::properties
