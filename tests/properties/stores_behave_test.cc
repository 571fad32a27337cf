#include "properties/stores_behave.h"

#include "gang/store/memory_store.h"
#include "tests/properties/planted.h"
#include "tests/properties/planted_store.h"

namespace gang::properties {
namespace {

using Kind = StoreStep::Kind;

StoreSubject planted(PlantedStore::Bug bug) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  return {.name = "planted", .make = [runtime, bug]() -> std::shared_ptr<Store> {
            return std::make_shared<PlantedStore>(make_memory_store(*runtime), bug);
          }};
}

TEST(StoresBehave, HoldsForEveryKindOfStore) { expect_hold(stores_behave(), 600); }

TEST(StoresBehave, AnAddThatForgetsIsCaughtAndShrunk) {
  const Counterexample found =
      expect_caught({store_is_a_map(planted(PlantedStore::Bug::add_starts_anew))},
                    "planted_is_a_map", "(add of key/");
  EXPECT_THAT(found.text, ::testing::StartsWith("2 steps of"));
}

TEST(StoresBehave, ACompareSetThatStoresRegardlessIsCaught) {
  expect_caught({store_is_a_map(planted(PlantedStore::Bug::compare_set_stores_always))},
                "planted_is_a_map", "(compare_set of key/");
}

TEST(StoresBehave, AMapThatIsNotSharedIsCaught) {
  const Counterexample found = expect_caught(
      {store_is_a_map(planted(PlantedStore::Bug::client_has_its_own_map))}, "planted_is_a_map", "");
  EXPECT_THAT(found.text, ::testing::StartsWith("2 steps of 2 clients"));
}

TEST(StoresBehave, ClientsThatDoNotShareAMapAreCaught) {
  expect_caught(
      {concurrent_clients_see_one_order(planted(PlantedStore::Bug::client_has_its_own_map))},
      "planted_clients_see_one_order", "");
}

TEST(StoresBehave, ACaseIsShownOperationByOperation) {
  const StoreCase one{.clients = 2,
                      .steps = {{.kind = Kind::compare_set,
                                 .client = 1,
                                 .key = 2,
                                 .text = "new",
                                 .expected = std::string("\0", 1)}}};
  EXPECT_EQ(to_text(one),
            "1 step of 2 clients\n"
            "  client 1: compare_set key/2 text \"new\" expected \"\\x00\" delta 0");
}

}  // namespace
}  // namespace gang::properties
