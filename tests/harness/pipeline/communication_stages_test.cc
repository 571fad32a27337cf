#include "harness/pipeline/communication_stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/forwarding_gang.h"
#include "harness/cost/cost_account.h"
#include "harness/programs/all_programs.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

using Settings = std::map<std::string, std::string>;

RankCounts counts_of(Settings settings, int world_size, const std::string& mode) {
  settings["mode"] = mode;
  const RunResult result =
      run(counted(hybrid_program()),
          {.program = "hybrid", .world_size = world_size, .parameters = std::move(settings)});
  EXPECT_TRUE(result.holds()) << to_string(result);
  return harness::counts_of(result);
}

// Every rank makes the same calls with the same sizes as with arithmetic.
TEST(CommunicationStages, MakeTheSameCallsAsNumericStages) {
  const std::vector<std::pair<int, Settings>> runs = {
      {8, {{"pp", "2"}, {"tp", "2"}}},
      {8, {{"pp", "2"}, {"tp", "2"}, {"schedule", "interleaved_1f1b"}}},
      {8, {{"pp", "4"}, {"schedule", "zero_bubble_h1"}, {"samples", "2"}, {"steps", "2"}}},
      {8, {{"pp", "2"}, {"tp", "2"}, {"schedule", "zero_bubble_h1"}}},
      {8, {{"tp", "2"}, {"intra_node", "2"}}},
      {4, {{"pp", "2"}, {"tp", "2"}, {"split", "linear1"}}},
      {8, {{"pp", "2"}, {"tp", "2"}, {"model", "transformer"}}},
      {4, {{"pp", "2"}, {"tp", "2"}, {"model", "transformer"}, {"split", "linear0"}}}};
  for (const auto& [world_size, settings] : runs) {
    const RankCounts with = counts_of(settings, world_size, "numeric");
    EXPECT_EQ(counts_of(settings, world_size, "communication"), with);
    EXPECT_FALSE(with.front().empty());
  }
}

// Notes the calls on gangs called "tp", with their labels where `labels`.
class TpCalls final : public ForwardingGang {
 public:
  TpCalls(std::shared_ptr<Gang> inner, std::vector<std::string>& calls, bool labels)
      : ForwardingGang(std::move(inner)), calls_(calls), labels_(labels) {}

 protected:
  void after(const Operation& operation) override {
    if (name() != "tp") return;
    Collective call = operation.collective;
    if (!labels_) call.label = {};
    calls_.push_back(to_string(call));
  }
  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override {
    return std::make_shared<TpCalls>(std::move(child), calls_, labels_);
  }

 private:
  std::vector<std::string>& calls_;
  bool labels_;
};

std::vector<std::vector<std::string>> calls_of(Settings settings, const std::string& mode,
                                               bool labels) {
  settings["mode"] = mode;
  settings["tp"] = "2";
  settings["pp"] = "2";
  std::vector<std::vector<std::string>> calls(4);
  Program program = hybrid_program();
  program.run = [run = program.run, &calls, labels](Rank& rank) {
    auto& of_rank = calls[static_cast<std::size_t>(rank.rank())];
    const std::shared_ptr<Gang> root = std::make_shared<TpCalls>(rank.root(), of_rank, labels);
    Rank noting(rank, root);
    run(noting);
  };
  const RunResult result =
      run(program, {.program = "hybrid", .world_size = 4, .parameters = std::move(settings)});
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_FALSE(calls.front().empty());
  return calls;
}

TEST(CommunicationStages, ReduceWithTheSameOperationsInTheSameOrder) {
  const Settings transformer = {{"model", "transformer"}};
  EXPECT_EQ(calls_of(transformer, "communication", false), calls_of(transformer, "numeric", false));
}

TEST(CommunicationStages, LabelTheCallsOfEachLayer) {
  EXPECT_EQ(calls_of({}, "communication", true), calls_of({}, "numeric", true));
  const Settings transformer = {{"model", "transformer"}};
  EXPECT_EQ(calls_of(transformer, "communication", true), calls_of(transformer, "numeric", true));
}

}  // namespace
}  // namespace gang::harness
