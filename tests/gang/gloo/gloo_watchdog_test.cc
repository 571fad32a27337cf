#include "gang/gloo/gloo_watchdog.h"

#include <functional>
#include <string>
#include <vector>

#include "tests/gang/gloo/gloo_ranks.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// Four ranks in two gangs each, rows {0,1} {2,3} and columns {0,2} {1,3}: rank 3 keeps its row
// waiting, and rank 0 waits for its column. The last error is that of rank 2 in a third gang.
std::vector<test::RankError> run_grid(Watchdog watchdog) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const std::shared_ptr<Store> store = make_memory_store(*runtime);
  std::vector<test::RankError> errors(5);
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 4; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto root = make_gloo_gang(
          {.connector = make_store_connector(test::loopback_device(), store->new_client(), runtime),
           .runtime = runtime,
           .rank = rank,
           .size = 4,
           .timeout = 10s,
           .watchdog = watchdog});
      const auto row = root->split({.color = rank / 2});
      const auto column = root->split({.color = rank % 2});
      root->barrier();
      errors[static_cast<std::size_t>(rank)] = test::error_of([&] {
        if (rank == 2) row->barrier({.timeout = 200ms});
        if (rank == 0) column->barrier();
        if (rank == 2) std::this_thread::sleep_for(1s);
      });
      if (rank == 2) errors[4] = test::error_of([&root] { root->barrier({.timeout = 100ms}); });
      if (rank % 2 == 1) std::this_thread::sleep_for(1s);
    });
  }
  ranks.clear();
  return errors;
}

// What the first and the last of three gangs of one rank say after `act` on the second.
std::vector<std::string> kinds_after(const std::function<void(const std::shared_ptr<Gang>&)>& act) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const auto root = make_gloo_gang({.runtime = runtime, .size = 1, .watchdog = Watchdog::on});
  const auto second = root->split({.color = 0});
  const auto third = root->split({.color = 0});
  act(second);
  std::vector<std::string> kinds;
  for (const auto& gang : {root, third})
    kinds.push_back(test::error_of([&gang] { gang->barrier(); }).kind);
  return kinds;
}

TEST(GlooWatchdog, AGangThatTheProgramAbortsOrShrinksLeavesTheOthersAlone) {
  const std::vector<std::string> sound = {"", ""};
  EXPECT_EQ(kinds_after([](const auto& gang) { gang->abort(); }), sound);
  EXPECT_EQ(kinds_after([](const auto& gang) { gang->shrink(); }), sound);
}

TEST(GlooWatchdog, OneBrokenGangAbortsAllGangsOfItsRank) {
  const auto errors = run_grid(Watchdog::on);
  EXPECT_EQ(errors[2].kind, "timeout");
  EXPECT_EQ(errors[0].kind, "aborted") << errors[0].text;
  EXPECT_LT(errors[0].elapsed, 900ms);
  EXPECT_EQ(errors[4].kind, "aborted") << errors[4].text;
  EXPECT_NE(errors[0].text.find("the watchdog of rank 2 aborted it because root.0[2,3] broke"),
            std::string::npos)
      << errors[0].text;
}

}  // namespace
}  // namespace gang
