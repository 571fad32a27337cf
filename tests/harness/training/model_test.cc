#include "harness/training/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"
#include "harness/training/batch.h"
#include "harness/training/objective.h"

namespace gang::harness::training {
namespace {

using testing::ElementsAre;

Model make_model(const ModelSpecification& model) {
  return {model.layers, build_options(model, 1)};
}

std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names;
  for (const ModelParameter* parameter : model.parameters()) names.push_back(parameter->name);
  return names;
}

TEST(Model, ListsItsParametersInOrder) {
  const Model model = make_model(mlp({.linears = 2}));
  EXPECT_THAT(names_of(model),
              ElementsAre("linear0.weight", "linear0.bias", "linear1.weight", "linear1.bias"));
  EXPECT_EQ(model.element_count(), 16 * 8 + 16 + 4 * 16 + 4);
}

TEST(Model, FindsParametersByName) {
  Model model = make_model(mlp());
  EXPECT_EQ(model.parameter("linear1.bias").value.rows(), 16);
  EXPECT_THROW(model.parameter("linear9.bias"), InvalidArgument);
}

TEST(Model, ReportsGradientsInReverseOrder) {
  Model model = make_model(mlp({.linears = 2}));
  Activations activations;
  const Matrix output = model.forward(Matrix::Ones(8, 3), activations);
  std::vector<std::string> ready;
  model.backward(output, activations,
                 [&](ModelParameter& parameter) { ready.push_back(parameter.name); });
  EXPECT_THAT(ready,
              ElementsAre("linear1.bias", "linear1.weight", "linear0.bias", "linear0.weight"));
  EXPECT_TRUE(activations.empty());
}

TEST(Model, BackwardInTwoHalvesGivesTheSameGradients) {
  for (const ModelSpecification& specification : {mlp(), transformer()}) {
    Model whole = make_model(specification);
    Model halves = make_model(specification);
    const Batch batch = make_batch(specification, 1, 0, 4);
    Activations of_whole;
    Activations of_halves;
    const Matrix output = whole.forward(batch.inputs, of_whole);
    EXPECT_EQ(halves.forward(batch.inputs, of_halves), output);
    const Matrix gradient = loss_of(specification.objective, output, batch.targets).gradient;
    EXPECT_EQ(whole.backward(gradient, of_whole), halves.backward_input(gradient, of_halves));
    EXPECT_EQ(halves.parameters()[0]->gradient.norm(), 0);
    halves.backward_weights(of_halves);
    for (std::size_t i = 0; i < whole.parameters().size(); ++i) {
      EXPECT_EQ(whole.parameters()[i]->gradient, halves.parameters()[i]->gradient);
    }
  }
}

TEST(Model, StagesAreTheWholeModel) {
  const ModelSpecification specification = transformer();
  const std::span layers(specification.layers);
  Model whole = make_model(specification);
  Model first(layers.first(3), build_options(specification, 1));
  Model second(layers.subspan(3), build_options(specification, 1));
  const Batch batch = make_batch(specification, 1, 0, 2);
  Activations of_whole;
  Activations of_first;
  Activations of_second;
  EXPECT_EQ(second.forward(first.forward(batch.inputs, of_first), of_second),
            whole.forward(batch.inputs, of_whole));
}

TEST(Model, ZeroesItsGradients) {
  Model model = make_model(mlp());
  Activations activations;
  model.backward(model.forward(Matrix::Ones(8, 3), activations), activations);
  EXPECT_NE(model.parameters()[0]->gradient.norm(), 0);
  model.zero_gradients();
  EXPECT_EQ(model.parameters()[0]->gradient.norm(), 0);
}

TEST(Model, TheSecondHalfOfBackwardReportsGradientsAndDropsWhatIsKept) {
  Model model = make_model(mlp({.linears = 2}));
  Activations activations;
  model.backward_input(model.forward(Matrix::Ones(8, 3), activations), activations);
  std::vector<std::string> ready;
  model.backward_weights(activations,
                         [&](ModelParameter& parameter) { ready.push_back(parameter.name); });
  EXPECT_THAT(ready,
              ElementsAre("linear1.bias", "linear1.weight", "linear0.bias", "linear0.weight"));
  EXPECT_TRUE(activations.empty());
}

TEST(Model, IsBuiltWithTheNumbersOfItsSpecificationAndTheGivenSeed) {
  const BuildOptions options = build_options(transformer(), 7);
  EXPECT_EQ(options.seed, 7U);
  EXPECT_EQ(options.numbers, Numbers::real);
  EXPECT_EQ(build_options(mlp(), 1).numbers, Numbers::exact);
}

}  // namespace
}  // namespace gang::harness::training
