#include "harness/training/training_plan.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/training/batch.h"

namespace gang::harness::training {
namespace {

using testing::HasSubstr;

ParameterValues values_with(const std::map<std::string, std::string>& given,
                            const std::string& model = "mlp") {
  return {training_parameters(model), given};
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TrainingPlan, IsWhatTheParametersSay) {
  const TrainingPlan plan =
      training_plan(values_with({{"hidden", "24"}, {"layers", "2"}, {"samples", "3"}}), 4);
  EXPECT_EQ(plan.model, mlp({.hidden = 24, .linears = 2}));
  EXPECT_EQ(plan.samples, 12);
  EXPECT_EQ(training_plan(values_with({}, "transformer"), 1).model, transformer());
}

TEST(TrainingPlan, RejectsABatchThatOneProcessCannotCheck) {
  EXPECT_NO_THROW(validate_training(64, values_with({{"samples", "256"}})));
  EXPECT_THAT(refusal([] { validate_training(65, values_with({{"samples", "256"}})); }),
              HasSubstr("are 16640; must be at most 16384"));
  EXPECT_NO_THROW(validate_training(65, values_with({{"samples", "256"}, {"compare", "false"}})));
}

TEST(TrainingPlan, RejectsAWidthThatTheHeadsDoNotDivide) {
  EXPECT_THAT(refusal([] { validate_training(1, values_with({{"hidden", "10"}}, "transformer")); }),
              HasSubstr("hidden is 10; must be a multiple of 4"));
}

TEST(TrainingPlan, ListsThePossibleSizes) {
  EXPECT_EQ(refusal([] { check_divides("tp", 4, "world", 6); }),
            "tp 4 does not divide world 6; must be one of: 1, 2, 3, 6");
  EXPECT_NO_THROW(check_divides("tp", 3, "world", 6));
  EXPECT_EQ(refusal([] { check_intra_node(3, 8); }),
            "intra_node is 3 and dp is 8; must be one of: 0, 2, 4, 8");
  EXPECT_NO_THROW(check_intra_node(0, 8));
  EXPECT_NO_THROW(check_intra_node(8, 8));
}

TEST(TrainingPlan, HasTheSeedAndMomentumOfItsParameters) {
  const TrainingPlan plan = training_plan(values_with({{"data_seed", "9"}}), 1);
  EXPECT_EQ(plan.seed, 9U);
  EXPECT_EQ(plan.sgd, sgd_for(plan.model.numbers, 0.5));
}

TEST(TrainingPlan, APartIsThatOfTheBatch) {
  const TrainingPlan plan = training_plan(values_with({{"samples", "3"}}), 3);
  EXPECT_EQ(plan.batch(2).samples(), 9);
  EXPECT_EQ(plan.part(2, 1, 3).inputs, part_of(plan.batch(2), 1, 3).inputs);
}

TEST(TrainingPlan, TpDividesTheWorldAndTheLayers) {
  std::vector<Parameter> parameters = training_parameters("mlp");
  parameters.push_back(integer_parameter("tp", 1, {1, 64}, "tensor parallel ranks"));
  const auto with_tp = [&](const char* tp, int world_size) {
    return refusal([&] {
      validate_tp_training(world_size,
                           ParameterValues{parameters, {{"tp", tp}, {"samples", "256"}}});
    });
  };
  EXPECT_EQ(with_tp("2", 128), "accepted") << "64 data-parallel ranks";
  EXPECT_THAT(with_tp("2", 130), HasSubstr("256 samples on each of 65 data-parallel ranks"));
  EXPECT_THAT(with_tp("3", 4), HasSubstr("tp 3 does not divide world 4; must be one of: 1, 2, 4"));
  EXPECT_THAT(with_tp("32", 32), HasSubstr("tp 32 does not divide the 16 outputs of linear0"));
}

TEST(TrainingPlan, APartHasTheSeedOfTheBatch) {
  const TrainingPlan plan = training_plan(values_with({{"data_seed", "9"}}), 2);
  EXPECT_EQ(plan.part(1, 1, 2).inputs, part_of(plan.batch(1), 1, 2).inputs);
}

TEST(TrainingPlan, NothingIsDividedBy0AndDpOf1IsNotSharded) {
  EXPECT_EQ(refusal([] { check_divides("tp", 0, "world", 2); }),
            "tp 0 does not divide world 2; must be one of: 1, 2");
  EXPECT_EQ(refusal([] { check_intra_node(0, 1); }), "accepted");
}

}  // namespace
}  // namespace gang::harness::training
