#include "properties/training.h"

#include "gang/gangs.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

using harness::Program;
using harness::Rank;

// The real programs, one of them changed by `change`.
TrainingSubject with(const std::string& name, const std::function<void(Program&)>& change) {
  TrainingSubject subject = make_training_subject();
  const auto found = std::ranges::find(subject.programs, name, &Program::name);
  if (found == subject.programs.end()) throw std::out_of_range(name);
  change(*found);
  return subject;
}

// The last rank outputs one value more than the program does.
TrainingSubject with_another_output(const std::string& name) {
  return with(name, [](Program& program) {
    program.run = [run = program.run](Rank& rank) {
      run(rank);
      if (rank.rank() > 0 && rank.rank() == rank.world_size() - 1) rank.output("shard", 1.0);
    };
  });
}

TEST(Training, ProgramsEqualOneProcess) { expect_hold(training(), 6000); }

TEST(Training, AResultThatIsWrongIsCaught) {
  const auto subject = with("tp", [](Program& program) {
    program.run = [run = program.run](Rank& rank) {
      run(rank);
      if (rank.rank() == 1) rank.wrong_result("planted");
    };
  });
  const Counterexample found = expect_caught(
      find_property(training(subject), "programs_equal_one_process"), "planted", {.cases = 20'000});
  EXPECT_THAT(found.text, testing::HasSubstr("run tp --world 2"));
}

TEST(Training, AReplicaWithOtherBitsIsCaught) {
  expect_caught(find_property(training(with_another_output("ddp")), "replicas_are_equal"),
                "have the same part of the model, but different bits", {.cases = 20'000});
}

TEST(Training, AShardOfAnotherSizeIsCaught) {
  const auto subject = with("fsdp", [](Program& program) {
    program.run = [run = program.run](Rank& rank) {
      run(rank);
      const std::vector<double> many(1000);
      if (rank.rank() == 1) rank.output("shard", many);
    };
  });
  expect_caught(find_property(training(subject), "shards_match_the_plan"), "elements for a model",
                {.cases = 20'000});
}

TEST(Training, AResultThatDependsOnTheScheduleIsCaught) {
  TrainingSubject subject = make_training_subject();
  subject.run = [](const Program& program, const harness::RunSpecification& specification,
                   const harness::RunRecording& recording) {
    harness::RunResult result = harness::run(program, specification, recording);
    if (specification.options.execution != sim::ExecutionModel::independent)
      ++result.outputs.digest;
    return result;
  };
  expect_caught(find_property(training(subject), "schedules_do_not_matter"),
                "the result depends on the schedule", {.cases = 20'000});
}

TEST(Training, AFindingThatIsNotTheExpectedOneIsCaught) {
  TrainingSubject subject = make_training_subject();
  subject.faulty[0].finding = sim::finding_id::mismatch_root;
  expect_caught(find_property(training(subject), "wrong_trainers_are_found"),
                "expected one mismatch_root", {.cases = 20'000});
}

}  // namespace
}  // namespace gang::properties
