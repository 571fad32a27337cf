#include "properties/property_runner.h"

#include <chrono>
#include <thread>

#include "gang/error.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

Property counting(std::string name, std::uint64_t cases) {
  return {"suite", std::move(name), "", [cases](const Settings& settings) {
            if (settings.progress) settings.progress(cases);
            CheckResult result;
            result.cases = cases;
            return result;
          }};
}

TEST(PropertyRunner, ReportsResultsInListOrderWhateverFinishesFirst) {
  std::vector<Property> properties;
  for (int i = 0; i < 20; ++i) {
    properties.push_back({"suite", std::to_string(i), "", [i](const Settings&) {
                            std::this_thread::sleep_for(std::chrono::milliseconds((i * 7) % 5));
                            CheckResult result;
                            result.cases = static_cast<std::uint64_t>(i);
                            return result;
                          }});
  }
  std::vector<std::size_t> order;
  RunnerEvents events;
  events.finished = [&order](std::size_t index, const CheckResult& result) {
    EXPECT_EQ(result.cases, index);
    order.push_back(index);
  };
  const auto results = run_properties(properties, {.settings = {}, .jobs = 4}, events);
  EXPECT_EQ(results.size(), 20U);
  ASSERT_EQ(order.size(), 20U);
  EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(PropertyRunner, ReportsProgressOfAllPropertiesTogether) {
  std::vector<Property> properties = {counting("a", 500), counting("b", 300)};
  properties.push_back({"suite", "slow", "", [](const Settings&) {
                          std::this_thread::sleep_for(std::chrono::milliseconds(50));
                          return CheckResult{};
                        }});
  std::uint64_t cases = 0;
  std::string running;  // at the last report: the first may come before anything runs
  RunnerEvents events;
  events.progress = [&cases, &running](const Progress& progress) {
    cases = progress.cases;
    running = progress.running;
    EXPECT_EQ(progress.total, 3U);
  };
  RunnerOptions options{.settings = {}, .jobs = 1};
  options.progress_interval = std::chrono::milliseconds(1);
  run_properties(properties, options, events);
  EXPECT_EQ(cases, 800U);
  EXPECT_EQ(running, "suite.slow");
}

TEST(PropertyRunner, SharesTheTimeBudgetAmongWhatIsLeft) {
  std::vector<Duration> budgets;
  std::vector<Property> properties(4, {"suite", "name", "", [&budgets](const Settings& settings) {
                                         budgets.push_back(settings.time_budget.value());
                                         return CheckResult{};
                                       }});
  RunnerOptions options{.settings = {.time_budget = std::chrono::seconds(4)}, .jobs = 1};
  run_properties(properties, options, {});
  ASSERT_EQ(budgets.size(), 4U);
  EXPECT_LE(budgets[0], std::chrono::seconds(1));
  EXPECT_GT(budgets[0], std::chrono::milliseconds(900));
  EXPECT_GT(budgets[3], std::chrono::seconds(3));  // the others used nothing of theirs
}

TEST(PropertyRunner, ThrowsWhatACheckThrows) {
  std::vector<Property> properties = {counting("a", 1)};
  properties.push_back({"suite", "bad", "",
                        [](const Settings&) -> CheckResult { throw InvalidArgument("planted"); }});
  EXPECT_THROW(run_properties(properties, {.settings = {}, .jobs = 2}, {}), InvalidArgument);
}

}  // namespace
}  // namespace gang::properties
