#include "sim/engine/context_table.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

std::vector<RankState> ranks_of(int count) {
  std::vector<RankState> ranks(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) ranks[static_cast<std::size_t>(i)].rank = i;
  return ranks;
}

std::vector<TaskId> task_ids_of(const std::vector<const Task*>& tasks) {
  std::vector<TaskId> ids;
  for (const Task* task : tasks) ids.push_back(task->id);
  return ids;
}

TEST(ContextTable, ListsWhatIsLiveByRankTheProgramFirst) {
  std::vector<RankState> ranks = ranks_of(3);
  ContextTable contexts(ranks);
  const Task& loader = contexts.add(ranks[0], "loader", {});
  EXPECT_EQ(loader.id, 3U);
  EXPECT_THAT(task_ids_of(contexts.live()), ElementsAre(0, 3, 1, 2));
  contexts.note_end(contexts.program_of(1));
  contexts.note_frozen(contexts.program_of(2));
  EXPECT_THAT(task_ids_of(contexts.live()), ElementsAre(0, 3));
}

TEST(ContextTable, CountsThoseThatHaveNotEndedFrozenOnesIncluded) {
  std::vector<RankState> ranks = ranks_of(2);
  ContextTable contexts(ranks);
  EXPECT_FALSE(contexts.has_further());
  contexts.add(ranks[1], "loader", {});
  EXPECT_TRUE(contexts.has_further());
  EXPECT_EQ(contexts.left(), 3U);
  contexts.note_frozen(contexts.program_of(0));
  EXPECT_EQ(contexts.left(), 3U);
  EXPECT_EQ(contexts.frozen(), 1U);
  contexts.note_end(contexts[2]);
  EXPECT_EQ(contexts.left(), 2U);
  EXPECT_TRUE(contexts[2].is_done);
}

}  // namespace
}  // namespace gang::sim
