#include "harness/cost/cost_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/gangs.h"
#include "gang/object.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

using testing::ElementsAre;

RankCounts counts_of(const Program::Run& body, int world_size, RunSpecification specification = {},
                     const CostModel& model = {}) {
  specification.program = "counted";
  specification.world_size = world_size;
  const RunResult result = run(counted({"counted", "", body}, model), specification);
  EXPECT_TRUE(result.holds()) << to_string(result);
  return harness::counts_of(result);
}

// "root 4 intra all_reduce 2x 8000 B".
std::vector<std::string> texts_of(const std::vector<OperationCount>& counts) {
  std::vector<std::string> texts;
  for (const OperationCount& count : counts) {
    texts.push_back(fmt::format("{} {} {} {} {}x {} B", count.gang, count.size,
                                to_string(count.link), to_string(count.kind), count.calls,
                                count.bytes));
  }
  return texts;
}

TEST(CostAccount, CountsWhatNcclTestsCallTheSize) {
  const RankCounts counts = counts_of(
      [](Rank& rank) {
        Gang& gang = *rank.root();
        std::vector<float> whole(4, 1.0F);
        std::vector<float> part(1, 1.0F);
        gang.all_reduce(view(whole), ReduceOperation::sum);
        gang.start_all_reduce(view(whole), ReduceOperation::sum).wait();
        gang.all_gather(view(whole), view(part));
        gang.reduce_scatter(view(part), view(whole), ReduceOperation::sum);
        std::vector<float> other(4);
        gang.all_to_all(view(other), view(whole));
        gang.broadcast(view(part), 0);
        gang.barrier();
        gang.scan(view(part), ReduceOperation::sum);
        gang.all_gather(view(whole), view(part), std::vector<std::int64_t>{1, 1, 1, 1});
      },
      4);
  ASSERT_EQ(counts.size(), 4U);
  for (const auto& of_rank : counts) {
    EXPECT_THAT(
        texts_of(of_rank),
        ElementsAre("root 4 intra all_reduce 2x 32 B", "root 4 intra reduce_scatter 1x 16 B",
                    "root 4 intra all_gather 2x 32 B", "root 4 intra all_to_all 1x 16 B",
                    "root 4 intra broadcast 1x 4 B", "root 4 intra barrier 1x 0 B",
                    "root 4 intra scan 1x 4 B"));
  }
}

TEST(CostAccount, CountsMessagesByTheLinkToTheirPeer) {
  const RankCounts counts = counts_of(
      [](Rank& rank) {
        std::int64_t value = 0;
        std::int64_t other = 0;
        Gang& gang = *rank.root();
        if (rank.rank() == 0) gang.send(view_of(value), 1);
        if (rank.rank() == 1) gang.recv(view_of(value), 0);
        const PointToPoint both[] = {{OperationKind::send, view_of(value), (rank.rank() + 2) % 4},
                                     {OperationKind::recv, view_of(other), (rank.rank() + 2) % 4}};
        gang.batch(both);
      },
      4, {}, {.ranks_per_node = 2});
  EXPECT_THAT(texts_of(counts[0]),
              ElementsAre("root 4 intra send 1x 8 B", "root 4 inter batch 1x 8 B"));
  EXPECT_THAT(texts_of(counts[1]),
              ElementsAre("root 4 intra recv 1x 8 B", "root 4 inter batch 1x 8 B"));
}

TEST(CostAccount, CountsGangsCreatedFromGangs) {
  const RankCounts counts = counts_of(
      [](Rank& rank) {
        Gangs gangs = create_parallel_gangs(rank.root(), {.tp_size = 2});
        float value = 1;
        gangs.tp->all_reduce(view_of(value), ReduceOperation::sum);
        gangs.dp->all_reduce(view_of(value), ReduceOperation::sum);
        gangs.dp->all_reduce(view_of(value), ReduceOperation::sum);
        gangs.close();
      },
      4, {}, {.ranks_per_node = 2});
  const auto texts = texts_of(counts[3]);
  EXPECT_THAT(texts, testing::Contains("tp 2 intra all_reduce 1x 4 B"));
  EXPECT_THAT(texts, testing::Contains("dp 2 inter all_reduce 2x 8 B"));
}

TEST(CostAccount, TheLinkOfAGangIsThatAmongAllItsMembers) {
  const RankCounts counts = counts_of(
      [](Rank& rank) {
        const auto gang = rank.root()->create_gang(std::vector{0, 2, 1}, {.name = "three"});
        if (gang) gang->barrier();
      },
      4, {}, {.ranks_per_node = 2});
  EXPECT_THAT(texts_of(counts[0]), testing::Contains("three 3 inter barrier 1x 0 B"));
}

TEST(CostAccount, DoesNotDependOnTheBackend) {
  const auto body = [](Rank& rank) {
    std::vector<float> values(6, 1.0F);
    rank.root()->all_reduce(view(values), ReduceOperation::sum);
    rank.root()->broadcast(view(values), 1);
  };
  const RankCounts on_sim = counts_of(body, 3);
  EXPECT_EQ(counts_of(body, 3, {.backend = BackendKind::sim_gloo}), on_sim);
  EXPECT_EQ(counts_of(body, 3, {.options = {.context = sim::ContextKind::parallel}}), on_sim);
  EXPECT_EQ(counts_of(body, 3, {.backend = BackendKind::fake}).front(), on_sim.front());
  EXPECT_EQ(counts_of(body, 3, {.backend = BackendKind::gloo}), on_sim);
}

TEST(CostAccount, ARunThatIsRepeatedIsCountedOnce) {
  const RankCounts counts = counts_of([](Rank& rank) { rank.root()->barrier(); }, 2,
                                      {.schedule = ScheduleChoice::recheck});
  EXPECT_THAT(texts_of(counts[1]), ElementsAre("root 2 intra barrier 1x 0 B"));
}

TEST(CostAccount, ARankThatFailsStillReportsItsCalls) {
  const Program program{"counted", "", [](Rank& rank) {
                          rank.root()->barrier();
                          throw std::runtime_error("no more");
                        }};
  const RunResult result = run(counted(program), {.program = "counted", .world_size = 2});
  EXPECT_FALSE(result.holds());
  EXPECT_THAT(texts_of(harness::counts_of(result)[0]), ElementsAre("root 2 intra barrier 1x 0 B"));
}

TEST(CostAccount, DoesNotChangeTheRun) {
  const Program program{"counted", "", [](Rank& rank) {
                          float value = 1;
                          rank.root()->all_reduce(view_of(value), ReduceOperation::sum);
                          rank.output("value", value);
                        }};
  const RunSpecification specification{.program = "counted", .world_size = 4};
  const RunResult plain = run(program, specification);
  const RunResult result = run(counted(program), specification);
  EXPECT_EQ(result.outputs.digest, plain.outputs.digest);
  EXPECT_EQ(result.report.counts, plain.report.counts);
}

TEST(CostAccount, CountsWhatIsGatheredAndScatteredInAll) {
  const RankCounts counts = counts_of(
      [](Rank& rank) {
        std::vector<float> whole(4);
        std::vector<float> part(1);
        std::vector<TensorView> parts;
        if (rank.rank() == 0)
          for (int i = 0; i < 4; ++i) parts.push_back(view(whole).slice(i, 1));
        rank.root()->gather(parts, view(part), 0);
        rank.root()->scatter(view(part), parts, 0);
      },
      4);
  for (const auto& of_rank : counts)
    EXPECT_THAT(texts_of(of_rank), testing::UnorderedElementsAre("root 4 intra gather 1x 16 B",
                                                                 "root 4 intra scatter 1x 16 B"));
}

TEST(CostAccount, CountsMessagesOverEachLinkByThemselves) {
  const RankCounts counts = counts_of(
      [](Rank& rank) {
        std::int64_t value = 0;
        if (rank.rank() == 0)
          for (const int peer : {1, 2, 3}) rank.root()->send(view_of(value), peer);
        else
          rank.root()->recv(view_of(value), 0);
      },
      4, {}, {.ranks_per_node = 2});
  EXPECT_THAT(texts_of(counts[0]), testing::UnorderedElementsAre("root 4 intra send 1x 8 B",
                                                                 "root 4 inter send 2x 16 B"));
}

// Ranks 1 and 3, on two nodes, are ranks 0 and 1 of their gang.
TEST(CostAccount, APeerIsWhereItsRankInTheRootIs) {
  const RankCounts counts = counts_of(
      [](Rank& rank) {
        const auto gang = rank.root()->create_gang(std::vector{1, 3}, {.name = "odd"});
        std::int64_t value = 0;
        if (rank.rank() == 1) gang->send(view_of(value), 1);
        if (rank.rank() == 3) gang->recv(view_of(value), 0);
      },
      4, {}, {.ranks_per_node = 2});
  EXPECT_THAT(texts_of(counts[1]), testing::Contains("odd 2 inter send 1x 8 B"));
  EXPECT_THAT(texts_of(counts[3]), testing::Contains("odd 2 inter recv 1x 8 B"));
}

TEST(OperationSums, AddWhatIsAlikeInEveryRespect) {
  const OperationCount one{.gang = "dp",
                           .size = 2,
                           .kind = OperationKind::all_reduce,
                           .calls = 1,
                           .bytes = 8,
                           .seconds = 0.5};
  OperationCount other = one;
  other.gang = "tp";
  OperationSums sums;
  sums.add({one, other});
  sums.add({one});
  const std::vector<OperationCount> all = sums.take();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].calls, 2U);
  EXPECT_EQ(all[0].bytes, 16);
  EXPECT_EQ(all[0].seconds, 1.0);
  EXPECT_EQ(all[1].calls, 1U);
}

TEST(CostAccount, ABatchCountsWhatItSendsOrReceivesWhicheverIsMore) {
  const RankCounts counts = counts_of(
      [](Rank& rank) {
        std::vector<std::int64_t> values(3);
        const int peer = 1 - rank.rank();
        const OperationKind both = rank.rank() == 0 ? OperationKind::send : OperationKind::recv;
        const OperationKind one = rank.rank() == 0 ? OperationKind::recv : OperationKind::send;
        const PointToPoint batch[] = {{both, view(values).slice(0, 1), peer},
                                      {both, view(values).slice(1, 1), peer},
                                      {one, view(values).slice(2, 1), peer}};
        rank.root()->batch(batch);
      },
      2);
  for (const auto& of_rank : counts)
    EXPECT_THAT(texts_of(of_rank), ElementsAre("root 2 intra batch 1x 16 B"));
}

TEST(OperationSums, KeepApartWhatDiffersInOneRespect) {
  const OperationCount one{.gang = "dp", .size = 2, .kind = OperationKind::all_reduce, .calls = 1};
  OperationCount larger = one;
  larger.size = 4;
  OperationCount farther = one;
  farther.link = Link::inter_node;
  OperationCount gathers = one;
  gathers.kind = OperationKind::all_gather;
  OperationSums sums;
  sums.add({one, larger, farther, gathers, one});
  const std::vector<OperationCount> all = sums.take();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].calls, 2U);
}

TEST(CostAccount, AMessageFromAnySourceTakesTheLinkOfItsGang) {
  const RankCounts counts = counts_of(
      [](Rank& rank) {
        std::int64_t value = 0;
        if (rank.rank() == 0) rank.root()->send(view_of(value), 1);
        if (rank.rank() == 1) rank.root()->recv(view_of(value), any_rank);
      },
      4, {}, {.ranks_per_node = 2});
  EXPECT_THAT(texts_of(counts[1]), ElementsAre("root 4 inter recv 1x 8 B"));
}

TEST(CostAccount, ABatchThatLeavesTheNodeInAnyEntryTakesTheLinkBetweenNodes) {
  const RankCounts counts = counts_of(
      [](Rank& rank) {
        std::int64_t value = 0;
        const PointToPoint near_and_far[] = {{OperationKind::send, view_of(value), 1},
                                             {OperationKind::send, view_of(value), 2}};
        if (rank.rank() == 0)
          rank.root()->batch(near_and_far);
        else if (rank.rank() < 3)
          rank.root()->recv(view_of(value), 0);
      },
      4, {}, {.ranks_per_node = 2});
  EXPECT_THAT(texts_of(counts[0]), ElementsAre("root 4 inter batch 1x 16 B"));
}

TEST(CostAccount, CountsAllPartsOfWhatIsGatheredToAList) {
  const RankCounts counts = counts_of(
      [](Rank& rank) {
        std::vector<float> whole(4);
        std::vector<float> part(1);
        std::vector<TensorView> parts;
        for (int i = 0; i < 4; ++i) parts.push_back(view(whole).slice(i, 1));
        rank.root()->all_gather_to_list(parts, view(part));
      },
      4);
  for (const auto& of_rank : counts)
    EXPECT_THAT(texts_of(of_rank), ElementsAre("root 4 intra all_gather_to_list 1x 16 B"));
}

// Rank 0 sends four elements and receives two.
TEST(CostAccount, AnUnevenAllToAllCountsWhatTheRankSends) {
  const RankCounts counts = counts_of(
      [](Rank& rank) {
        const bool is_first = rank.rank() == 0;
        std::vector<float> input(is_first ? 4 : 2);
        std::vector<float> output(is_first ? 2 : 4);
        const std::vector<std::int64_t> to =
            is_first ? std::vector<std::int64_t>{1, 3} : std::vector<std::int64_t>{1, 1};
        const std::vector<std::int64_t> from =
            is_first ? std::vector<std::int64_t>{1, 1} : std::vector<std::int64_t>{3, 1};
        rank.root()->all_to_all(view(output), view(input), {.output = from, .input = to});
      },
      2);
  EXPECT_THAT(texts_of(counts[0]), ElementsAre("root 2 intra all_to_all 1x 16 B"));
  EXPECT_THAT(texts_of(counts[1]), ElementsAre("root 2 intra all_to_all 1x 8 B"));
}

TEST(CostAccount, ObjectsCountTheirBytes) {
  const RankCounts counts = counts_of(
      [](Rank& rank) {
        std::vector<Object> objects = {Object(std::string(100, 'x'))};
        rank.root()->broadcast_objects(objects);
      },
      2);
  ASSERT_EQ(counts[0].size(), 1U);
  EXPECT_EQ(counts[0][0].kind, OperationKind::broadcast_objects);
  EXPECT_GE(counts[0][0].bytes, 100);
  EXPECT_LT(counts[0][0].bytes, 200);
  EXPECT_EQ(counts[1], counts[0]);
}

}  // namespace
}  // namespace gang::harness
