#include "harness/pipeline/gradient_bucket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/run/runner.h"

namespace gang::harness {
namespace {

using training::Model;

const training::ModelSpecification specification =
    training::mlp({.inputs = 3, .hidden = 5, .outputs = 1, .linears = 2});

// Every rank's gradients are its rank + 1 everywhere; one update. Gives the values of each rank.
std::vector<double> values_after_update(const Gangs& gangs, int rank) {
  Model model(specification.layers, training::build_options(specification, 1));
  for (training::ModelParameter* parameter : model.parameters())
    parameter->gradient.setConstant(rank + 1);
  std::vector<Model*> models{&model};
  GradientBucket bucket(gangs, model.element_count());
  bucket.pack(models);
  bucket.reduce();
  bucket.update(training::sgd_for(specification.numbers), 8);
  bucket.gather();
  bucket.unpack(models);
  std::vector<double> values;
  const double sum = gangs.dp->size() * (gangs.dp->size() + 1) / 2;
  for (const training::ModelParameter* parameter : model.parameters()) {
    if (gangs.sdp->size() > 1) {
      EXPECT_EQ(parameter->gradient.size(), 0);
    } else {
      EXPECT_TRUE((parameter->gradient.array() == sum).all());
    }
    values.insert(values.end(), parameter->value.data(),
                  parameter->value.data() + parameter->value.size());
  }
  return values;
}

// The same of one process with the summed gradient.
std::vector<double> expected_values(double gradient) {
  Model model(specification.layers, training::build_options(specification, 1));
  for (training::ModelParameter* parameter : model.parameters())
    parameter->gradient.setConstant(gradient);
  training::Sgd(training::sgd_for(specification.numbers), model).step(8);
  std::vector<double> values;
  for (const training::ModelParameter* parameter : model.parameters())
    values.insert(values.end(), parameter->value.data(),
                  parameter->value.data() + parameter->value.size());
  return values;
}

TEST(GradientBucket, UpdatesAsOneProcessWithTheSum) {
  // 26 elements: a shard of 4 ranks is padded.
  for (const int intra_node : {0, 2, 4}) {
    const Program program{
        "bucket", "", [intra_node](Rank& rank) {
          Gangs gangs = create_parallel_gangs(rank.root());
          if (intra_node > 0) gangs = create_fsdp_gangs(gangs, intra_node);
          EXPECT_EQ(values_after_update(gangs, rank.rank()), expected_values(1 + 2 + 3 + 4))
              << "intra_node " << intra_node;
          gangs.close();
        }};
    const RunResult result = run(program, {.program = "bucket", .world_size = 4});
    EXPECT_TRUE(result.holds()) << to_string(result);
  }
}

TEST(GradientBucket, NeedsNoGangOfOne) {
  const Gangs gangs = create_fake_gangs();
  EXPECT_EQ(values_after_update(gangs, 0), expected_values(1));
}

TEST(GradientBucket, RefusesMoreThanItHolds) {
  const Gangs gangs = create_fake_gangs();
  Model model(specification.layers, training::build_options(specification, 1));
  std::vector<Model*> models{&model};
  GradientBucket bucket(gangs, model.element_count() - 1);
  EXPECT_THROW(bucket.pack(models), InvalidArgument);
}

}  // namespace
}  // namespace gang::harness
