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

TEST(GradientBucket, RefusesModelsThatTogetherAreTooLarge) {
  const Gangs gangs = create_fake_gangs();
  Model first(specification.layers, training::build_options(specification, 1));
  Model second(specification.layers, training::build_options(specification, 1));
  for (Model* model : {&first, &second})
    for (training::ModelParameter* parameter : model->parameters())
      parameter->gradient.setZero(parameter->value.rows(), parameter->value.cols());
  std::vector<Model*> models{&first, &second};
  GradientBucket bucket(gangs, 2 * first.element_count() - 1);
  EXPECT_THROW(bucket.pack(models), InvalidArgument);
  GradientBucket larger(gangs, 2 * first.element_count());
  EXPECT_NO_THROW(larger.pack(models));
}

// What a rank's optimizer has gathered in one step counts in the next.
TEST(GradientBucket, KeepsItsVelocity) {
  for (const int intra_node : {0, 2}) {
    const Program program{
        "bucket", "", [intra_node](Rank& rank) {
          Gangs gangs = create_parallel_gangs(rank.root());
          if (intra_node > 0) gangs = create_fsdp_gangs(gangs, intra_node);
          const training::SgdOptions options{.learning_rate = 0.5, .momentum = 0.5};
          Model model(specification.layers, training::build_options(specification, 1));
          Model expected(specification.layers, training::build_options(specification, 1));
          training::Sgd sgd(options, expected);
          std::vector<Model*> models{&model};
          GradientBucket bucket(gangs, model.element_count());
          for (int step = 0; step < 3; ++step) {
            for (training::ModelParameter* parameter : model.parameters())
              parameter->gradient.setConstant(parameter->value.rows(), parameter->value.cols(), 1);
            for (training::ModelParameter* parameter : expected.parameters())
              parameter->gradient.setConstant(rank.world_size());
            bucket.pack(models);
            bucket.reduce();
            bucket.update(options, 8);
            bucket.gather();
            bucket.unpack(models);
            sgd.step(8);
          }
          for (const training::ModelParameter* parameter : model.parameters())
            EXPECT_EQ(parameter->value, expected.parameter(parameter->name).value)
                << parameter->name << " intra_node " << intra_node;
          gangs.close();
        }};
    const RunResult result = run(program, {.program = "bucket", .world_size = 4});
    EXPECT_TRUE(result.holds()) << to_string(result);
  }
}

}  // namespace
}  // namespace gang::harness
