#include "harness/training/objective.h"

#include "gang/fake_gang.h"
#include "harness/gtest_support.h"
#include "harness/program/rank.h"
#include "tests/harness/training/gradient_check.h"
#include "tests/harness/training/noted_calls.h"

namespace gang::harness::training {
namespace {

void expect_gradient(Objective objective, Matrix outputs, const Matrix& targets) {
  const Matrix gradient = loss_of(objective, outputs, targets).gradient;
  for (Eigen::Index i = 0; i < outputs.size(); ++i) {
    expect_near(slope(outputs.data()[i], [&] { return loss_of(objective, outputs, targets).sum; }),
                gradient.data()[i]);
  }
}

Matrix some_labels() {
  Matrix labels(1, 3);
  labels << 3, 0, 1;
  return labels;
}

TEST(Objective, GradientsMatchFiniteDifferences) {
  expect_gradient(Objective::squared_error, some_input(4, 3), Matrix::Ones(4, 3));
  expect_gradient(Objective::cross_entropy, some_input(4, 3), some_labels());
}

TEST(Objective, CrossEntropyOfEqualScoresIsTheLogarithmOfTheirNumber) {
  EXPECT_NEAR(loss_of(Objective::cross_entropy, Matrix::Zero(4, 3), some_labels()).sum,
              3 * std::log(4), 1e-12);
}

TEST(Objective, LargeScoresDoNotOverflow) {
  const Matrix scores = Matrix::Constant(4, 3, 1e4);
  EXPECT_NEAR(loss_of(Objective::cross_entropy, scores, some_labels()).sum, 3 * std::log(4), 1e-9);
}

GANG_TEST(Objective, CrossEntropyOfADividedVocabularyIsThatOfTheWhole, 2) {
  const Matrix scores = some_input(4, 3);
  const Loss whole = loss_of(Objective::cross_entropy, scores, some_labels());
  const Loss mine = loss_of(Objective::cross_entropy, scores.middleRows(2 * rank.rank(), 2),
                            some_labels(), rank.root());
  EXPECT_NEAR(mine.sum, whole.sum, 1e-12);
  EXPECT_LT((mine.gradient - whole.gradient.middleRows(2 * rank.rank(), 2)).norm(), 1e-12);
}

// Rank 1 has the large scores.
GANG_TEST(Objective, LargeScoresOfAnotherRankDoNotOverflow, 2) {
  Matrix scores = some_input(4, 3);
  scores.bottomRows(2).array() += 1e4;
  const Loss whole = loss_of(Objective::cross_entropy, scores, some_labels());
  const Loss mine = loss_of(Objective::cross_entropy, scores.middleRows(2 * rank.rank(), 2),
                            some_labels(), rank.root());
  EXPECT_TRUE(mine.gradient.allFinite());
  EXPECT_NEAR(mine.sum, whole.sum, 1e-9);
}

TEST(Objective, CrossEntropyLabelsItsCalls) {
  const auto tp = std::make_shared<NotedCalls>(make_fake_gang());
  loss_of(Objective::cross_entropy, some_input(4, 3), some_labels(), tp);
  EXPECT_EQ(tp->labels(), (std::vector<std::string>{"largest score", "sum of exponentials",
                                                    "score of the label"}));
}

}  // namespace
}  // namespace gang::harness::training
