#include "sim/contexts/fiber_switcher.h"

#include <exception>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

class OnFibers : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_fibers())
      GTEST_SKIP() << "sanitizers do not follow fibers; runs in builds without a sanitizer";
  }

  static Report run_fibers(int world_size, const RankProgram& program) {
    return run({.world_size = world_size, .context = ContextKind::fiber}, program);
  }
};

using FiberSwitcherTest = OnFibers;

// The text of the exception that is being handled.
std::string handled() {
  try {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST_F(FiberSwitcherTest, AnExceptionBeingHandledStaysWithItsFiber) {
  const Report report = run_fibers(5, [](SimulatedRank& rank) {
    const std::string own = "error of " + std::to_string(rank.rank());
    try {
      throw std::runtime_error(own);
    } catch (const std::runtime_error&) {
      // Others throw and catch while this one is inside its handler.
      for (int i = 0; i < 3; ++i) {
        rank.root()->barrier();
        EXPECT_EQ(handled(), own);
      }
    }
    EXPECT_EQ(std::current_exception(), nullptr);
  });
  EXPECT_TRUE(report.holds());
}

// Switches to other fibers while it is being destroyed.
struct BlocksOnDestruction {
  ~BlocksOnDestruction() {
    exceptions = std::uncaught_exceptions();
    gang.barrier();
    EXPECT_EQ(std::uncaught_exceptions(), exceptions);
  }
  Gang& gang;
  int& exceptions;
};

TEST_F(FiberSwitcherTest, AnExceptionInFlightStaysWithItsFiber) {
  const Report report = run_fibers(4, [](SimulatedRank& rank) {
    int in_flight = -1;
    try {
      const BlocksOnDestruction guard{*rank.root(), in_flight};
      if (rank.rank() % 2 == 0) throw std::runtime_error("even");
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "even");
    }
    EXPECT_EQ(in_flight, rank.rank() % 2 == 0 ? 1 : 0);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  });
  EXPECT_TRUE(report.holds());
}

TEST_F(FiberSwitcherTest, NestedExceptionsUnfoldOnTheirFiber) {
  const Report report = run_fibers(3, [](SimulatedRank& rank) {
    const std::string own = std::to_string(rank.rank());
    try {
      try {
        throw std::runtime_error("inner " + own);
      } catch (...) {
        rank.root()->barrier();
        std::throw_with_nested(std::runtime_error("outer " + own));
      }
    } catch (const std::runtime_error& outer) {
      rank.root()->barrier();
      EXPECT_EQ(outer.what(), "outer " + own);
      try {
        std::rethrow_if_nested(outer);
        ADD_FAILURE();
      } catch (const std::runtime_error& inner) {
        rank.root()->barrier();
        EXPECT_EQ(inner.what(), "inner " + own);
      }
    }
  });
  EXPECT_TRUE(report.holds());
}

TEST_F(FiberSwitcherTest, CarriesTensOfThousandsOfRanks) {
  const Report report = run_fibers(20'000, [](SimulatedRank& rank) {
    EXPECT_EQ(count_members(*rank.root()), 20'000);
    rank.root()->barrier();
  });
  EXPECT_TRUE(report.holds());
}

TEST_F(FiberSwitcherTest, StacksAreAsLargeAsAsked) {
  const Report report = run({.world_size = 2, .stack_bytes = 4 << 20}, [](SimulatedRank& rank) {
    std::array<std::int8_t, 3 << 20> on_the_stack;
    on_the_stack.fill(1);
    rank.root()->all_reduce(view(on_the_stack), ReduceOperation::sum);
    EXPECT_EQ(on_the_stack.front(), 2);
    EXPECT_EQ(on_the_stack.back(), 2);
  });
  EXPECT_TRUE(report.holds());
}

TEST_F(FiberSwitcherTest, RankLocalsFollowTheContext) {
  const Report report = run_fibers(3, [](SimulatedRank& rank) {
    const RankLocals* own = &rank_locals();
    rank.root()->barrier();
    EXPECT_EQ(&rank_locals(), own);
    rank.runtime().start_thread("further", [own] { EXPECT_NE(&rank_locals(), own); })->join();
    EXPECT_EQ(&rank_locals(), own);
  });
  EXPECT_TRUE(report.holds());
}

using FiberSwitcherDeathTest = OnFibers;

std::uint64_t sink(std::uint64_t depth) {
  volatile std::uint64_t frame[128] = {};
  frame[0] = depth;
  return frame[0] == 0 ? 0 : sink(depth - 1) + frame[0];
}

TEST_F(FiberSwitcherDeathTest, AnOverflowOfAStackFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(run_fibers(2, [](SimulatedRank&) { std::printf("%lu", sink(1 << 20)); }), "");
}

}  // namespace
}  // namespace gang::sim
