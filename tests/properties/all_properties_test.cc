#include "properties/all_properties.h"

#include <set>

#include "gang/root_gang.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(AllProperties, HaveNamesOfTheirOwnAndADescription) {
  std::set<std::string> names;
  for (const Property& property : all_properties()) {
    EXPECT_TRUE(names.insert(property.full_name()).second) << property.full_name();
    EXPECT_FALSE(property.description.empty()) << property.full_name();
    EXPECT_FALSE(property.suite.empty());
  }
}

TEST(AllProperties, CoverEverySuite) {
  std::set<std::string> suites;
  for (const Property& property : all_properties()) suites.insert(property.suite);
  EXPECT_EQ(suites, (std::set<std::string>{"meshes_partition",
                                           "meshes_are_arithmetic",
                                           "gangs_follow_meshes",
                                           "gangs_compose",
                                           "collectives_match_model",
                                           "algorithms_agree",
                                           "messages_keep_order",
                                           "fake_gang_agrees",
                                           "invalid_arguments_stay_local",
                                           "mismatches_are_found",
                                           "deadlocks_are_exact",
                                           "certainty",
                                           "misuse_is_found",
                                           "errors_reach_everyone",
                                           "exploration",
                                           "faults_are_contained",
                                           "timeouts_fire_on_time",
                                           "runtimes_are_deterministic",
                                           "runs_replay",
                                           "recordings",
                                           "runs_are_explained",
                                           "remote_runs_agree",
                                           "texts_round_trip",
                                           "pipelines_are_valid",
                                           "training_pipelines",
                                           "faulty_programs",
                                           "training",
                                           "mutants",
                                           "culprits",
                                           "stores_behave"}));
}

void expect_to_hold(const std::vector<Property>& properties, harness::BackendKind backend) {
  std::set<std::string> names;
  for (const Property& property : properties) {
    EXPECT_TRUE(names.insert(property.full_name()).second) << property.full_name();
    EXPECT_EQ(property.backend, backend);
    const CheckResult result = property.check({.cases = 60, .max_world = 5});
    EXPECT_TRUE(result.held()) << property.full_name() << "\n" << why_not(result);
  }
  EXPECT_GE(names.size(), 30U);
}

TEST(PropertiesOverGloo, AreOfThatBackendAndHold) {
  if (!gloo_availability().is_available) GTEST_SKIP() << gloo_availability().reason;
  expect_to_hold(properties_over_gloo(), harness::BackendKind::sim_gloo);
}

TEST(PropertiesOverNccl, AreOfThatBackendAndHold) {
  expect_to_hold(properties_over_nccl(), harness::BackendKind::sim_nccl);
}

// Laws that need more ranks than the largest world must cope.
TEST(AllProperties, HoldInTheSmallestWorld) {
  for (const Property& property : all_properties()) {
    const CheckResult result = property.check({.cases = 40, .max_world = 1});
    EXPECT_TRUE(result.held()) << property.full_name() << "\n" << why_not(result);
  }
}

}  // namespace
}  // namespace gang::properties
