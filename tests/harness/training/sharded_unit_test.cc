#include "harness/training/sharded_unit.h"

#include "harness/gtest_support.h"
#include "harness/program/rank.h"

namespace gang::harness::training {
namespace {

// 3 x 4 weights and 3 biases: 15 elements.
const ModelSpecification specification = mlp({.inputs = 4, .outputs = 3, .linears = 1});
const BuildOptions options = build_options(specification, 1);

GANG_TEST(ShardedUnit, GathersWhatWasDivided, 4) {
  LiveMemory live;
  ShardedUnit unit(specification.layers, options,
                   create_fsdp_gangs(create_parallel_gangs(rank.root())), live);
  EXPECT_EQ(unit.padded_elements(), 16);
  EXPECT_EQ(unit.shard().size(), 4U);
  EXPECT_EQ(unit.model().parameters()[0]->value.size(), 0);
  unit.gather();
  const Model whole(specification.layers, options);
  EXPECT_EQ(unit.model().parameters()[0]->value, whole.parameters()[0]->value);
  EXPECT_EQ(unit.model().parameters()[1]->value, whole.parameters()[1]->value);
  EXPECT_EQ(live.values.now, 16);
  unit.release();
  EXPECT_EQ(unit.model().parameters()[0]->value.size(), 0);
  EXPECT_EQ(live.values.now, 0);
  EXPECT_EQ(live.values.most, 16);
}

// Every rank's gradient of each bias is the number of its samples: 1, 2, 3, 4.
GANG_TEST(ShardedUnit, SumsGradientsOverShardsAndReplicas, 4) {
  for (const bool is_hybrid : {false, true}) {
    LiveMemory live;
    const Gangs gangs = create_parallel_gangs(rank.root());
    ShardedUnit unit(specification.layers, options,
                     is_hybrid ? create_fsdp_gangs(gangs, 2) : create_fsdp_gangs(gangs), live);
    const Eigen::Index samples = rank.rank() + 1;
    Activations activations;
    unit.gather();
    unit.forward(Matrix::Zero(4, samples), activations);
    unit.backward(Matrix::Ones(3, samples), activations);
    EXPECT_EQ(live.gradients.now, 16);
    unit.release();
    unit.start_reduce();
    unit.finish_reduce();
    EXPECT_EQ(live.gradients.now, 0);
    unit.step({.learning_rate = 1}, 10);
    unit.gather();
    EXPECT_EQ(unit.model().parameters()[1]->value, Matrix::Constant(3, 1, -1));
    unit.release();
  }
}

GANG_TEST(ShardedUnit, GathersOnceHoweverOftenItIsAsked, 2) {
  LiveMemory live;
  ShardedUnit unit(specification.layers, options,
                   create_fsdp_gangs(create_parallel_gangs(rank.root())), live);
  unit.start_gather();
  unit.start_gather();
  unit.gather();
  unit.gather();
  EXPECT_EQ(live.values.now, 16);
  unit.release();
}

TEST(ShardedUnit, ThePlanCountsNeighboursThatAreInMemoryTogether) {
  const Eigen::Index sizes[] = {10, 4, 7};
  EXPECT_EQ(planned_memory(sizes, true).values.most, 14);
  EXPECT_EQ(planned_memory(sizes, false).values.most, 10);
  EXPECT_EQ(planned_memory(sizes, false).gradients.most, 14);
  EXPECT_EQ(planned_memory(std::span(sizes).first(1), true).values.most, 10);
}

TEST(LiveElements, RememberTheMost) {
  LiveElements live;
  live.add(10);
  live.remove(10);
  live.add(4);
  EXPECT_EQ(live.now, 4);
  EXPECT_EQ(live.most, 10);
}

GANG_TEST(ShardedUnit, HasAsManyParametersAsItsLayers, 2) {
  const ModelSpecification two = mlp({.inputs = 4, .hidden = 6, .outputs = 3, .linears = 2});
  LiveMemory live;
  ShardedUnit unit(two.layers, options, create_fsdp_gangs(create_parallel_gangs(rank.root())),
                   live);
  unit.gather();
  const Model whole(two.layers, options);
  for (std::size_t i = 0; i < whole.parameters().size(); ++i)
    EXPECT_EQ(unit.model().parameters()[i]->value, whole.parameters()[i]->value);
  unit.release();
}

GANG_TEST(ShardedUnit, GradientsAreThoseOfTheLastPassAndAreThereWhenTheyAreGathered, 2) {
  LiveMemory live;
  ShardedUnit unit(specification.layers, options,
                   create_fsdp_gangs(create_parallel_gangs(rank.root())), live);
  const ModelParameter& bias = *unit.model().parameters()[1];
  Activations activations;
  unit.gather();
  for (const Eigen::Index samples : {4, 3}) {
    unit.forward(Matrix::Zero(4, samples), activations);
    unit.backward(Matrix::Ones(3, samples), activations);
    EXPECT_EQ(bias.gradient, Matrix::Constant(3, 1, static_cast<double>(samples)));
  }
  unit.release();
  unit.start_reduce();
  EXPECT_EQ(bias.gradient.size(), 0);
  unit.finish_reduce();
  unit.gather_gradients();
  EXPECT_EQ(bias.gradient, Matrix::Constant(3, 1, 6));
  EXPECT_EQ(bias.value.size(), 0);
}

}  // namespace
}  // namespace gang::harness::training
