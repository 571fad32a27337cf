#include <gtest/gtest.h>

#include "gang/fake_gang.h"
#include "gang/recording/recording_gang.h"
#include "sim/simulation.h"

namespace gang::harness {
namespace {

std::vector<DumpedState> states_of(const CallRing& ring) {
  CallTable calls;
  std::vector<DumpedState> states;
  for (const DumpedCall& call : ring.dump(calls, ProgramEnd::none).calls)
    states.push_back(call.state);
  return states;
}

constexpr DumpedState started = DumpedState::started;
constexpr DumpedState completed = DumpedState::completed;

TEST(RecordedGangs, ACallIsCompleteOnceTheProgramHasSeenIt) {
  std::vector<DumpedState> before;
  std::vector<DumpedState> after;
  sim::Simulation({.world_size = 2}).run([&](sim::SimulatedRank& rank) {
    const auto ring = std::make_shared<CallRing>(CallRing::Options{.rank = rank.rank()});
    const auto gang = std::make_shared<RecordingGang>(rank.root(), ring);
    gang->barrier();
    std::vector<Work> works;
    works.push_back(gang->start_barrier());
    works.push_back(gang->start_barrier());
    if (rank.rank() == 0) before = states_of(*ring);
    works[1].wait();
    EXPECT_EQ(Work::wait_any(works), 0U);
    works[0].wait();
    if (rank.rank() == 0) after = states_of(*ring);
  });
  EXPECT_EQ(before, (std::vector{completed, started, started}));
  EXPECT_EQ(after, (std::vector{completed, completed, completed}));
}

TEST(RecordedGangs, ChildrenShareTheRing) {
  std::vector<std::string> groups;
  sim::Simulation({.world_size = 4}).run([&](sim::SimulatedRank& rank) {
    const auto ring = std::make_shared<CallRing>(CallRing::Options{.rank = rank.rank()});
    const auto gang = std::make_shared<RecordingGang>(rank.root(), ring);
    const auto half = gang->split({.color = rank.rank() % 2}, {.name = "half"});
    half->barrier();
    CallTable calls;
    if (rank.rank() != 3) return;
    const Dump dump = ring->dump(calls, ProgramEnd::none);
    for (const DumpedCall& call : dump.calls) groups.push_back(dump.groups[call.group].name);
    EXPECT_EQ(dump.groups[1].ranks, (std::vector{1, 3}));
  });
  EXPECT_EQ(groups, (std::vector<std::string>{"root", "half"}));
}

TEST(RecordedGangs, SaysWhenItsRankWaited) {
  std::vector<std::optional<std::uint64_t>> waited;
  sim::Simulation({.world_size = 2}).run([&](sim::SimulatedRank& rank) {
    const auto ring = std::make_shared<CallRing>(CallRing::Options{.rank = rank.rank()});
    const auto gang = std::make_shared<RecordingGang>(rank.root(), ring);
    std::vector<Work> works;
    for (int i = 0; i < 3; ++i) works.push_back(gang->start_barrier());
    EXPECT_EQ(Work::wait_any(works), 0U);  // and only for that one
    gang->barrier();
    works[0].wait();
    works[2].wait();
    works[1].wait();
    if (rank.rank() != 1) return;
    CallTable calls;
    for (const DumpedCall& call : ring->dump(calls, ProgramEnd::none).calls)
      waited.push_back(call.waited);
  });
  EXPECT_EQ(waited, (std::vector<std::optional<std::uint64_t>>{3, 4, 4, std::nullopt}));
}

TEST(RecordedGangs, DroppedWorkIsStillAFinding) {
  const sim::Report report = sim::Simulation({.world_size = 1}).run([](sim::SimulatedRank& rank) {
    const auto ring = std::make_shared<CallRing>(CallRing::Options{});
    const auto gang = std::make_shared<RecordingGang>(rank.root(), ring);
    const Work dropped = gang->start_barrier();
  });
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].id, "unwaited_work");
}

}  // namespace
}  // namespace gang::harness
