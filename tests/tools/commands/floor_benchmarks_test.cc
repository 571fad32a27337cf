#include "tools/commands/floor_benchmarks.h"

#include <gtest/gtest.h>

namespace gang::tools {
namespace {

TEST(FloorBenchmarks, EveryKindOfSmallCallIsCounted) {
  std::vector<std::string> kinds;
  for (const CountedCall& call : counted_calls()) kinds.push_back(call.kind);
  EXPECT_EQ(kinds.size(), 13U);
  EXPECT_EQ(instruction_benchmarks().size(), kinds.size());
  EXPECT_EQ(floor_benchmarks().size(), 3U);
}

// The same on every machine, unlike time: a count that grows by a twentieth has a cause. Lower
// `recorded` when a call has become cheaper.
TEST(FloorBenchmarks, NoCallHasBecomeDearer) {
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    defined(__clang__)
  GTEST_SKIP() << "the counts are those of GCC's optimised code";
#endif
  for (const CountedCall& call : counted_calls()) {
    const auto count = instructions_of(call);
    if (!count) GTEST_SKIP() << "needs valgrind and repeated_calls";
    EXPECT_LE(*count, 1.05 * call.recorded) << call.kind << " on " << call.world_size << " ranks";
  }
}

}  // namespace
}  // namespace gang::tools
