#include "sim/schedule/interleavings.h"

#include <vector>

#include "tests/sim/schedule/logs.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Two choices among two contexts, made as the beginning says and then by the first.
StepLog log_after(const Beginning& beginning) {
  LogWriter writer(2);
  for (std::size_t i = 0; i < 2; ++i)
    writer.step(i < beginning.choices.size() && beginning.choices[i] == 101 ? 1 : 0);
  return writer.log();
}

TEST(Interleavings, EachComesOnceWhileTheShareSeenGrows) {
  Interleavings all;
  std::vector<std::vector<StepKey>> seen;
  std::vector<double> shares;
  bool is_left = true;
  while (is_left) {
    const StepLog log = log_after(all.beginning());
    seen.push_back({log.choices[0].chosen, log.choices[1].chosen});
    is_left = all.next(log);
    if (is_left) shares.push_back(all.share_seen());
  }
  EXPECT_THAT(seen, testing::UnorderedElementsAre(ElementsAre(100, 100), ElementsAre(100, 101),
                                                  ElementsAre(101, 100), ElementsAre(101, 101)));
  EXPECT_THAT(shares, ElementsAre(0.25, 0.5, 0.75));
}

// Of calls unless asked otherwise, in every run.
TEST(Interleavings, AreOfCallsOrOfDeeds) {
  const auto chooses_at_every_call = [](Interleavings all) {
    const bool at_first = all.beginning().chooses_at_every_call;
    EXPECT_TRUE(all.next(log_after(all.beginning())));
    EXPECT_EQ(all.beginning().chooses_at_every_call, at_first);
    return at_first;
  };
  EXPECT_TRUE(chooses_at_every_call(Interleavings()));
  EXPECT_FALSE(chooses_at_every_call(Interleavings(Interleavings::Steps::deeds)));
}

}  // namespace
}  // namespace gang::sim
