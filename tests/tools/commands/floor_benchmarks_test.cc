#include "tools/commands/floor_benchmarks.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gang::tools {
namespace {

TEST(FloorBenchmarks, EveryKindOfSmallCallIsCounted) {
  std::vector<std::string> kinds;
  for (const CountedCall& call : counted_calls()) kinds.push_back(call.kind);
  EXPECT_EQ(kinds.size(), 13U);
  EXPECT_EQ(instruction_benchmarks().size(), kinds.size());
  EXPECT_EQ(kind_benchmarks().size(), 11U) << "all but all_reduce";
  EXPECT_EQ(floor_benchmarks().size(), 4U);
}

// What the cases of a floor and of an all_reduce take, in turns.
RunCase that_takes(std::vector<double> floor_ns, std::vector<double> ns) {
  return [floor_ns = std::move(floor_ns), ns = std::move(ns), floors = std::size_t{0},
          calls = std::size_t{0}](const std::string& name) mutable {
    const bool is_floor = name.starts_with("floor_");
    return std::optional(MeasuredCase{
        .result = is_floor ? nlohmann::json{{"items_per_second", 1e9 / floor_ns.at(floors++)}}
                           : nlohmann::json{{"ns_per_rank_operation", ns.at(calls++)}}});
  };
}

TEST(FloorBenchmarks, ThePairWithTheMedianRatioCounts) {
  const auto first_line = [](const RunCase& runner) {
    return floor_benchmarks(runner).front().measure();
  };
  const Measurement within = first_line(that_takes({10, 20, 10}, {90, 50, 11}));
  EXPECT_EQ(within.bar, "3.00 x floor");
  EXPECT_EQ(within.measured, "2.50 x (50 / 20 ns)");
  EXPECT_EQ(within.holds, true);
  EXPECT_EQ(first_line(that_takes({10, 10, 10}, {11, 31, 90})).holds, false);
  const Measurement missing =
      first_line([](const std::string&) { return std::optional<MeasuredCase>(); });
  EXPECT_EQ(missing.holds, std::nullopt);
}

TEST(FloorBenchmarks, AKindIsHeldToHalfMoreThanAnAllReduce) {
  const auto line = [](double ns) {
    return kind_benchmarks([ns](const std::string& kind) { return kind == "all_reduce" ? 40 : ns; })
        .front()
        .measure();
  };
  EXPECT_EQ(line(60).measured, "1.50 x (60 / 40 ns)");
  EXPECT_EQ(line(60).holds, true);
  EXPECT_EQ(line(61).holds, false);
  EXPECT_EQ(kind_benchmarks([](const std::string&) { return std::optional<double>(); })
                .front()
                .measure()
                .holds,
            std::nullopt);
}

TEST(FloorBenchmarks, TheTimeOfAKindIsMeasured) {
  const auto ns = time_of_kind("barrier");
  if (!ns) GTEST_SKIP() << "needs repeated_calls";
  EXPECT_GT(*ns, 1);
  EXPECT_LT(*ns, 1e6);
}

TEST(FloorBenchmarks, ACountIsHeldToItsBar) {
  const CountedCall& call = counted_calls().front();
  const auto count = instructions_of(call);
  if (!count) GTEST_SKIP() << "needs valgrind and repeated_calls";
  const Measurement line = instruction_benchmarks().front().measure();
  EXPECT_EQ(line.holds, std::stod(line.measured) <= call.bar);
  EXPECT_NEAR(std::stod(line.measured), *count, *count / 100);
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
