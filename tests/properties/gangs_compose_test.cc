#include "gang/fake_gang.h"
#include "properties/all_properties.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(GangsCompose, HoldOnSimulatedGangs) { expect_hold(gangs_compose()); }

TEST(GangsCompose, AChildWithOtherMembersIsCaught) {
  Subject subject;
  subject.wrap = [](std::shared_ptr<Gang> gang) {
    if (gang->name() == "root") return gang;
    return make_fake_gang({.rank = 0, .size = gang->size() + 1});
  };
  const Counterexample found = expect_caught(
      gangs_compose(subject), "nested_create_gang_and_split_compose", "does not have the members");
  EXPECT_THAT(found.text, ::testing::StartsWith("world 1, 2 gangs"));
}

TEST(GangsCompose, AProgramThatIsDisturbedIsCaught) {
  expect_caught(gangs_compose(corrupting(OperationKind::all_gather)),
                "disjoint_gangs_do_not_disturb_each_other", "step 0");
}

}  // namespace
}  // namespace gang::properties
