#include "harness/training/training_plan.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

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

}  // namespace
}  // namespace gang::harness::training
