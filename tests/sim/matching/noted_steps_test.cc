#include "sim/matching/noted_steps.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/schedule/guide.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// What a program does, step by step.
StepLog log_of(int world_size, const RankProgram& program) {
  static const Knowledge none;
  SimulationOptions options{.world_size = world_size, .scheduler = SchedulerKind::guided};
  options.guide = std::make_shared<Guide>();
  options.guide->begin({}, none);
  run(options, program);
  return options.guide->log();
}

std::size_t count(const StepLog& log, AccessKind kind, AccessMode mode) {
  std::size_t number = 0;
  for (const Access& access : log.accesses) number += access.kind == kind && access.mode == mode;
  return number;
}

TEST(NotedSteps, MembersArriveAtOneObjectForEachCollective) {
  const StepLog log = log_of(3, [](SimulatedRank& rank) {
    rank.root()->barrier();
    rank.root()->barrier();
  });
  EXPECT_EQ(count(log, AccessKind::arrival, AccessMode::arrive), 6);
  std::set<StepKey> objects;
  for (const Access& access : log.accesses)
    if (access.kind == AccessKind::arrival) objects.insert(access.object);
  EXPECT_EQ(objects.size(), 2);
}

TEST(NotedSteps, MessagesGoToAMailboxAndReceivesFromAnySourceAreKnown) {
  const StepLog log = log_of(3, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() != 0) return rank.root()->send(view_of(value), 0, 4);
    rank.root()->recv(view_of(value), any_rank, 4);
    rank.root()->recv(view_of(value), any_rank, 4);
  });
  ASSERT_EQ(count(log, AccessKind::message, AccessMode::write), 2);
  ASSERT_EQ(log.knowledge.any_receives.size(), 1);
  for (const Access& access : log.accesses) {
    if (access.kind != AccessKind::message) continue;
    EXPECT_EQ(access.tag, 4);
    EXPECT_TRUE(log.knowledge.any_receives.contains({access.object, 4}));
  }
  ASSERT_EQ(log.taken.size(), 2);
  EXPECT_EQ(log.taken[0].rank, 0);
  EXPECT_NE(log.taken[0].message, log.taken[1].message);
}

// Of a gang in which ranks have other numbers than in the root gang.
TEST(NotedSteps, ATestLooksWhereAMessageArrives) {
  for (const bool from_any : {false, true}) {
    const StepLog log = log_of(3, [from_any](SimulatedRank& rank) {
      const std::vector<int> members = {1, 2};
      const auto gang = rank.root()->create_gang(members);
      if (gang == nullptr) return;
      std::int32_t value = 0;
      if (gang->rank() == 0) return gang->send(view_of(value), 1);
      Work work = gang->start_recv(view_of(value), from_any ? any_rank : 0);
      work.test();
      work.wait();
    });
    const auto sent = std::ranges::find(log.accesses, AccessKind::message, &Access::kind);
    ASSERT_NE(sent, log.accesses.end());
    EXPECT_EQ(sent->rank, 1);
    const auto look = std::ranges::find(log.accesses, AccessMode::look, &Access::mode);
    ASSERT_NE(look, log.accesses.end());
    EXPECT_EQ(look->object, from_any ? coming_to(sent->object) : coming_from(1, sent->object));
  }
}

TEST(NotedSteps, ATestLooksAndAnAbortWritesWhatEveryCallReads) {
  const StepLog log = log_of(2, [](SimulatedRank& rank) {
    Gang& root = *rank.root();
    std::int32_t value = 0;
    if (rank.rank() == 1) {
      root.send(view_of(value), 0);
      root.recv(view_of(value), 0);
      return root.abort();
    }
    root.recv(view_of(value), 1);
    root.send(view_of(value), 1);
    Work work = root.start_barrier();
    work.test();
    EXPECT_THROW(work.wait(), GangError);
    EXPECT_THROW(root.barrier(), GangError);
  });
  EXPECT_GE(count(log, AccessKind::look, AccessMode::look), 1);
  EXPECT_EQ(count(log, AccessKind::call, AccessMode::write), 1);
  EXPECT_EQ(count(log, AccessKind::call, AccessMode::read), 1) << "on the broken gang";
  const auto broken = std::ranges::find(log.accesses, AccessMode::write, [](const Access& access) {
    return access.kind == AccessKind::call ? access.mode : AccessMode::read;
  });
  ASSERT_NE(broken, log.accesses.end());
  EXPECT_EQ(std::ranges::count(log.accesses, broken->object, &Access::gang), 5);
}

// Rank 0 comes first: its receive waits, and the send that meets it has nobody to tell.
TEST(NotedSteps, OnlyAMessageThatIsLeftForOthersIsPublished) {
  const StepLog log = log_of(2, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    if (rank.rank() == 0)
      rank.root()->recv(view_of(value), 1);
    else
      rank.root()->send(view_of(value), 0);
  });
  const auto times = [&log](StepMark::Kind kind, AccessKind of) {
    const StepKey operation = std::ranges::find(log.accesses, of, &Access::kind)->operation;
    return std::ranges::count_if(log.marks, [&](const StepMark& mark) {
      return mark.kind == kind && mark.value == operation;
    });
  };
  ASSERT_EQ(count(log, AccessKind::arrival, AccessMode::arrive), 1);
  ASSERT_EQ(count(log, AccessKind::message, AccessMode::write), 1);
  EXPECT_EQ(times(StepMark::Kind::publish, AccessKind::arrival), 2) << "posted, then ended";
  EXPECT_EQ(times(StepMark::Kind::join, AccessKind::arrival), 2) << "by the send, then at its end";
  EXPECT_EQ(times(StepMark::Kind::publish, AccessKind::message), 0);
  EXPECT_EQ(times(StepMark::Kind::join, AccessKind::message), 0);
}

TEST(NotedSteps, ABatchReadsItsGangEvenIfItIsEmpty) {
  const StepLog log = log_of(1, [](SimulatedRank& rank) { rank.root()->start_batch({}).wait(); });
  EXPECT_EQ(count(log, AccessKind::call, AccessMode::read), 1);
}

}  // namespace
}  // namespace gang::sim
