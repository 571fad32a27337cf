#include "harness/training/gradient_buckets.h"

#include <gmock/gmock.h>

#include "gang/error.h"
#include "gang/fake_gang.h"
#include "harness/gtest_support.h"
#include "harness/program/rank.h"
#include "tests/harness/training/noted_calls.h"

namespace gang::harness::training {
namespace {

// Four parameters of 8, 2, 4 and 2 elements.
Model two_layers() {
  const ModelSpecification model = mlp({.inputs = 4, .hidden = 2, .outputs = 2, .linears = 2});
  return {model.layers, build_options(model, 1)};
}

void fill(Model& model, double value) {
  for (ModelParameter* parameter : model.parameters()) parameter->gradient.setConstant(value);
}

void all_ready(Model& model, GradientBuckets& buckets) {
  const auto& parameters = model.parameters();
  for (auto i = parameters.rbegin(); i != parameters.rend(); ++i) buckets.ready(**i);
}

TEST(GradientBuckets, EndWithTheParameterThatReachesTheirSize) {
  Model model = two_layers();
  const auto count = [&](Eigen::Index elements) {
    return GradientBuckets(model.parameters(), make_fake_gang(), {.bucket_elements = elements})
        .bucket_count();
  };
  EXPECT_EQ(count(1), 4U);
  EXPECT_EQ(count(2), 4U);
  EXPECT_EQ(count(3), 2U);
  EXPECT_EQ(count(6), 2U);
  EXPECT_EQ(count(100), 1U);
}

GANG_TEST(GradientBuckets, SumTheGradientsOfAllRanks, 3) {
  for (const Overlap overlap : {Overlap::asynchronous, Overlap::blocking}) {
    Model model = two_layers();
    GradientBuckets buckets(model.parameters(), rank.root(),
                            {.bucket_elements = 3, .overlap = overlap});
    for (int round = 1; round < 3; ++round) {
      fill(model, round * (rank.rank() + 1));
      all_ready(model, buckets);
      buckets.finish();
      for (const ModelParameter* parameter : model.parameters()) {
        EXPECT_EQ(parameter->gradient.minCoeff(), 6 * round);
        EXPECT_EQ(parameter->gradient.maxCoeff(), 6 * round);
      }
    }
  }
}

// The last rank's gradients become ready in reverse order; each bucket has one parameter.
GANG_TEST(GradientBuckets, AreReducedInOneOrderHoweverGradientsBecomeReady, 3) {
  Model model = two_layers();
  GradientBuckets buckets(model.parameters(), rank.root(), {.bucket_elements = 1});
  fill(model, 1);
  if (rank.rank() == 2) {
    for (const ModelParameter* parameter : model.parameters()) buckets.ready(*parameter);
  } else {
    all_ready(model, buckets);
  }
  buckets.finish();
  EXPECT_EQ(model.parameters()[2]->gradient.sum(), 3 * 4);
}

GANG_TEST(GradientBuckets, UnusedGradientsAreZero, 2) {
  Model model = two_layers();
  GradientBuckets buckets(model.parameters(), rank.root(), {.bucket_elements = 1});
  model.zero_gradients();
  if (rank.rank() == 0) {
    fill(model, 5);
    all_ready(model, buckets);
  } else {
    buckets.ready(*model.parameters()[1]);
    buckets.ready_unused();
  }
  buckets.finish();
  EXPECT_EQ(model.parameters()[3]->gradient.maxCoeff(), 5);
}

TEST(GradientBuckets, AGradientThatIsMissingAtTheEndIsNamed) {
  Model model = two_layers();
  GradientBuckets buckets(model.parameters(), make_fake_gang());
  buckets.ready(*model.parameters()[3]);
  try {
    buckets.finish();
    FAIL();
  } catch (const InvalidOperation& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("linear1.weight has no gradient"));
  }
}

TEST(GradientBuckets, AGradientIsReadyOnceInARound) {
  Model model = two_layers();
  GradientBuckets buckets(model.parameters(), make_fake_gang());
  buckets.ready(*model.parameters()[3]);
  EXPECT_THROW(buckets.ready(*model.parameters()[3]), InvalidOperation);
  EXPECT_THROW(buckets.ready(*two_layers().parameters()[0]), InvalidOperation);
}

TEST(GradientBuckets, AReductionHasANumberAndTheGivenPlace) {
  Model model = two_layers();
  const auto gang = std::make_shared<NotedCalls>(make_fake_gang());
  GradientBuckets buckets(model.parameters(), gang,
                          {.bucket_elements = 3, .call_site = CallSite::at("train.cc", 7)});
  fill(model, 1);
  all_ready(model, buckets);
  buckets.finish();
  EXPECT_EQ(gang->labels(), (std::vector<std::string>{"gradients 0", "gradients 1"}));
  for (const NotedCall& call : gang->calls()) EXPECT_EQ(to_string(call.location), "train.cc:7");
}

// Rank 1 comes a second later.
GANG_TEST(GradientBuckets, WaitAtOnceOnlyIfTheyBlock, 2) {
  for (const Overlap overlap : {Overlap::asynchronous, Overlap::blocking}) {
    rank.root()->barrier();
    const TimePoint begin = rank.runtime().now();
    if (rank.rank() == 1) rank.runtime().sleep_for(std::chrono::seconds(1));
    Model model = two_layers();
    GradientBuckets buckets(model.parameters(), rank.root(), {.overlap = overlap});
    fill(model, 1);
    all_ready(model, buckets);
    const bool has_waited = rank.runtime().now() - begin >= std::chrono::seconds(1);
    EXPECT_EQ(has_waited, rank.rank() == 1 || overlap == Overlap::blocking);
    buckets.finish();
  }
}

}  // namespace
}  // namespace gang::harness::training
