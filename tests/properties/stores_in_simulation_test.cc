#include "gang/store/memory_store.h"
#include "properties/stores_behave.h"
#include "tests/properties/planted.h"
#include "tests/properties/planted_store.h"

namespace gang::properties {
namespace {

MakeStore planted_in_simulation(PlantedStore::Bug bug) {
  return [bug](Runtime& runtime) -> std::shared_ptr<Store> {
    return std::make_shared<PlantedStore>(make_memory_store(runtime), bug);
  };
}

TEST(StoresInSimulation, HoldForMemory) {
  expect_hold({simulated_clients_see_one_order(make_memory_store),
               simulated_waits_end_on_time(make_memory_store)},
              4000);
}

TEST(StoresInSimulation, AnAddInTwoStepsIsCaughtAndShrunkToTwoRanks) {
  const Counterexample found = expect_caught({simulated_clients_see_one_order(planted_in_simulation(
                                                 PlantedStore::Bug::add_is_read_and_set))},
                                             "simulated_clients_see_one_order", "");
  EXPECT_THAT(found.text, ::testing::StartsWith("2 clients"));
}

TEST(StoresInSimulation, AWaitThatGivesUpEarlyIsCaughtAndShrunkToOneWaiter) {
  const Counterexample found = expect_caught(
      {simulated_waits_end_on_time(planted_in_simulation(PlantedStore::Bug::wait_ends_at_once))},
      "simulated_waits_end_on_time", "gives up at 0 s, expected 1 ms");
  EXPECT_THAT(found.text, ::testing::StartsWith("1 waiter,"));
}

}  // namespace
}  // namespace gang::properties
