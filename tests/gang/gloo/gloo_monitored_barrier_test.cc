#include "gang/gloo/gloo_monitored_barrier.h"

#include "tests/gang/gloo/gloo_ranks.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using test::run_gloo_ranks;

TEST(GlooMonitoredBarrier, PassesWhenAllHaveArrived) {
  test::on_gloo_ranks({.size = 4}, [](std::shared_ptr<Gang>& gang) {
    for (int i = 0; i < 3; ++i) gang->monitored_barrier(10s, Gang::MissingRanks::all);
  });
}

TEST(GlooMonitoredBarrier, NamesAllMissingRanksOnEveryRankThatArrived) {
  const auto errors = run_gloo_ranks({.size = 5}, [](std::shared_ptr<Gang>& gang) {
    if (gang->rank() == 1 || gang->rank() == 3) {
      std::this_thread::sleep_for(600ms);
      return;
    }
    gang->monitored_barrier(200ms, Gang::MissingRanks::all);
  });
  for (const std::size_t rank : {0U, 2U, 4U}) {
    EXPECT_EQ(errors[rank].kind, "timeout") << errors[rank].text;
    EXPECT_EQ(errors[rank].ranks_at_fault, (std::vector{1, 3})) << errors[rank].text;
  }
}

TEST(GlooMonitoredBarrier, NamesTheFirstMissingRank) {
  const auto errors = run_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    if (gang->rank() == 0)
      gang->monitored_barrier(100ms);
    else
      std::this_thread::sleep_for(400ms);
  });
  EXPECT_EQ(errors[0].ranks_at_fault, std::vector<int>{1});
}

TEST(GlooMonitoredBarrier, ARankThatIsGoneIsNotATimeout) {
  const auto errors = run_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    if (gang->rank() != 2) gang->monitored_barrier(20s);
  });
  EXPECT_EQ(errors[0].kind, "peer_failed") << errors[0].text;
  EXPECT_EQ(errors[0].ranks_at_fault, std::vector<int>{2});
  EXPECT_EQ(errors[1].kind, "peer_failed") << errors[1].text;
}

TEST(GlooMonitoredBarrier, AMemberThatHasBrokenTheGangSaysWhy) {
  const auto errors = run_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    if (gang->rank() == 2) std::this_thread::sleep_for(50ms);
    if (gang->rank() == 2) return gang->abort();
    gang->monitored_barrier(20s);
  });
  for (const std::size_t rank : {0U, 1U}) {
    EXPECT_EQ(errors[rank].kind, "aborted") << errors[rank].text;
    EXPECT_LT(errors[rank].elapsed, 10s);
  }
}

}  // namespace
}  // namespace gang
