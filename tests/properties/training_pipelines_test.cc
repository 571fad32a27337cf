#include "properties/training_pipelines.h"

#include <functional>

#include "harness/programs/all_programs.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

// hybrid on gangs that do something wrong after each operation.
harness::Program hybrid_with(const PlantedGang::Bug& bug) {
  harness::Program program = harness::hybrid_program();
  class Wrapping final : public ForwardingGang {
   public:
    Wrapping(std::shared_ptr<Gang> inner, PlantedGang::Bug planted)
        : ForwardingGang(std::move(inner)), bug_(std::move(planted)) {}

   protected:
    std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override {
      return std::make_shared<Wrapping>(std::move(child), bug_);
    }
    Received do_run(Operation& operation) override {
      const Received received = ForwardingGang::do_run(operation);
      bug_(*this, operation);
      return received;
    }

   private:
    PlantedGang::Bug bug_;
  };
  program.run = [run = program.run, bug](harness::Rank& rank) {
    const std::shared_ptr<Gang> root = std::make_shared<Wrapping>(rank.root(), bug);
    harness::Rank planted(rank, root);
    run(planted);
  };
  return program;
}

TEST(TrainingPipelines, Hold) { expect_hold(training_pipelines(), 6000); }

TEST(TrainingPipelines, AMessageThatArrivesWrongIsCaught) {
  const auto laws = training_pipelines(hybrid_with([](Gang&, Operation& operation) {
    if (operation.collective.kind == OperationKind::batch)
      if (std::byte* byte = first_output_byte(operation)) byte[7] ^= std::byte{0x80};  // the sign
  }));
  expect_caught(laws, "hybrid_equals_one_process", "wrong_result");
}

TEST(TrainingPipelines, AReductionThatLeavesOneRankOutIsCaught) {
  const auto laws = training_pipelines(hybrid_with([](Gang& on, Operation& operation) {
    const bool is_dp = on.name() == "dp" || on.name() == "root";
    const bool reduces_gradients = is_dp && operation.collective.kind == OperationKind::all_reduce;
    if (reduces_gradients && on.rank() == on.size() - 1)
      if (std::byte* byte = first_output_byte(operation)) byte[7] ^= std::byte{0x80};
  }));
  const Counterexample found = expect_caught(laws, "hybrid_equals_one_process");
  EXPECT_THAT(found.text, ::testing::HasSubstr("--world 2 "));
}

TEST(TrainingPipelines, AResultOfTheScheduleIsCaught) {
  harness::Program program = harness::hybrid_program();
  const auto arrivals = std::make_shared<int>(0);
  program.run = [run = program.run, arrivals](harness::Rank& rank) {
    run(rank);
    rank.output(fmt::format("arrival of {}", rank.rank()), *arrivals);
    *arrivals = (*arrivals + 1) % rank.world_size();  // Zero again after the last rank.
  };
  expect_caught(
      find_property(training_pipelines(program), "hybrid_results_do_not_depend_on_the_schedule"),
      "on threads, ordered by streams", {.cases = 3000});
}

TEST(TrainingPipelines, AResultOfThePipelineScheduleIsCaught) {
  harness::Program program = harness::hybrid_program();
  program.run = [run = program.run](harness::Rank& rank) {
    run(rank);
    rank.output("odd", rank.parameter<std::string>("schedule") == "zero_bubble_h1" ? 1 : 0);
  };
  expect_caught(training_pipelines(program), "hybrid_pipeline_schedules_agree",
                "under zero_bubble_h1");
}

TEST(TrainingPipelines, AnotherCallWithoutArithmeticIsCaught) {
  harness::Program program = harness::hybrid_program();
  program.run = [run = program.run](harness::Rank& rank) {
    if (rank.parameter<std::string>("mode") == "communication") rank.root()->barrier();
    run(rank);
  };
  expect_caught(training_pipelines(program), "hybrid_communicates_the_same_without_arithmetic",
                "a rank calls different operations");
}

}  // namespace
}  // namespace gang::properties
