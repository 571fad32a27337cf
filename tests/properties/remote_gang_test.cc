#include "properties/remote_gang.h"

#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/conductor/conductor.h"
#include "harness/run/runner.h"

namespace gang::properties {
namespace {

using testing::ElementsAre;
using RankBody = std::function<void(const std::shared_ptr<Gang>&)>;

harness::RunResult run_remotely(int world_size, const RankBody& body) {
  std::ostringstream none;
  harness::Conductor conductor({.world_size = world_size}, harness::RankSelection("none"), none,
                               none);
  conductor.set_launcher(std::make_unique<harness::NoLauncher>());
  conductor.prepare_run(1);
  std::vector<std::jthread> clients;
  for (int rank = 0; rank < world_size; ++rank)
    clients.emplace_back([&, rank] {
      harness::Client client(conductor.socket(), harness::Client::caller(rank, world_size));
      body(make_remote_root(client));
      client.bye();
    });
  harness::RunResult result =
      harness::run(conductor.program("remote"), {.program = "remote", .world_size = world_size});
  conductor.end_run(result.report, "");
  return result;
}

TEST(RemoteGang, RunsOperationsOfEveryShape) {
  const harness::RunResult result = run_remotely(2, [](const std::shared_ptr<Gang>& root) {
    const int rank = root->rank();
    std::vector<std::int32_t> two = {rank, 10};
    root->all_reduce(view(two), ReduceOperation::sum);
    EXPECT_THAT(two, ElementsAre(1, 20));
    std::vector<std::int32_t> all(4);
    two = {rank, -rank};
    Work work = root->start_all_gather(view(all), view(two));
    work.wait();
    EXPECT_THAT(all, ElementsAre(0, 0, 1, -1));
    std::vector<std::int32_t> one = {rank};
    root->broadcast(view(one), 1);
    EXPECT_THAT(one, ElementsAre(1));
    if (rank == 0) {
      root->send(view(two), 1, 7);
    } else {
      EXPECT_EQ(root->recv(view(two), any_rank, 7).source_rank, 0);
      EXPECT_THAT(two, ElementsAre(0, 0));
    }
    root->barrier();
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RemoteGang, MakesGangsOfGangs) {
  const harness::RunResult result = run_remotely(4, [](const std::shared_ptr<Gang>& root) {
    const int rank = root->rank();
    const std::shared_ptr<Gang> half = root->split({.color = rank % 2, .key = -rank});
    EXPECT_EQ(half->size(), 2);
    EXPECT_EQ(half->rank(), rank < 2 ? 1 : 0);
    const std::shared_ptr<Gang> alone = half->create_gang(std::vector<int>{1});
    EXPECT_EQ(alone != nullptr, rank < 2);
    std::int32_t value = rank;
    half->all_reduce(view_of(value), ReduceOperation::sum);
    EXPECT_EQ(value, rank % 2 == 0 ? 2 : 4);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RemoteGang, ThrowsTheErrorOfAnOperation) {
  run_remotely(2, [](const std::shared_ptr<Gang>& root) {
    std::int32_t value = 0;
    EXPECT_THROW(root->broadcast(view_of(value), root->rank()), Error);
  });
}

}  // namespace
}  // namespace gang::properties
