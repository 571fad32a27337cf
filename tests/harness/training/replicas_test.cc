#include "harness/training/replicas.h"

#include "gang/fake_gang.h"
#include "harness/gtest_support.h"
#include "harness/program/rank.h"
#include "tests/harness/training/noted_calls.h"

namespace gang::harness::training {
namespace {

Model model_of(std::uint64_t seed) {
  const ModelSpecification model = mlp();
  return {model.layers, build_options(model, seed)};
}

GANG_TEST(Replicas, HaveTheValuesOfTheSource, 3) {
  Model model = model_of(static_cast<std::uint64_t>(rank.rank()));
  broadcast_values(model.parameters(), *rank.root(), 1);
  EXPECT_EQ(model.parameters()[0]->value, model_of(1).parameters()[0]->value);
}

GANG_TEST(Replicas, AreTheSameOnlyIfEveryBitIs, 3) {
  Model model = model_of(1);
  Gang& root = *rank.root();
  EXPECT_TRUE(is_same_on_all(digest_of(model.parameters()), root, "parameters"));
  if (rank.rank() == 1) model.parameters()[2]->value(0, 0) += 0x1p-40;
  EXPECT_FALSE(is_same_on_all(digest_of(model.parameters()), root, "parameters"));
}

TEST(Replicas, DigestsTellValuesApart) {
  EXPECT_EQ(digest_of(Matrix::Ones(2, 2)), digest_of(Matrix::Ones(2, 2)));
  EXPECT_NE(digest_of(Matrix::Ones(2, 2)), digest_of(Matrix::Zero(2, 2)));
}

TEST(Replicas, DigestsOfParametersTellNamesApart) {
  Model model = model_of(1);
  const std::uint64_t before = digest_of(model.parameters());
  model.parameters()[0]->name = "other";
  EXPECT_NE(digest_of(model.parameters()), before);
}

TEST(Replicas, DigestsOfParametersTellTheValuesOfEachApart) {
  for (std::size_t i = 0; i < model_of(1).parameters().size(); ++i) {
    Model model = model_of(1);
    const std::uint64_t before = digest_of(model.parameters());
    model.parameters()[i]->value(0, 0) += 1;
    EXPECT_NE(digest_of(model.parameters()), before) << model.parameters()[i]->name;
  }
}

TEST(Replicas, CallsAreLabelledWithWhatTheyAreAbout) {
  Model model = model_of(1);
  NotedCalls gang(make_fake_gang());
  broadcast_values(std::span(model.parameters()).first(2), gang, 0);
  is_same_on_all(1, gang, "parameters");
  EXPECT_EQ(gang.labels(), (std::vector<std::string>{"linear0.weight", "linear0.bias", "parameters",
                                                     "parameters"}));
}

}  // namespace
}  // namespace gang::harness::training
