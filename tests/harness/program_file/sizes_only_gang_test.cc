#include "harness/program_file/sizes_only_gang.h"

#include <gtest/gtest.h>

#include "gang/fake_gang.h"
#include "gang/forwarding_gang.h"
#include "sim/simulation.h"

namespace gang::harness::program_file {
namespace {

// Notes the sizes that pass it.
class SizeGang final : public ForwardingGang {
 public:
  SizeGang(std::shared_ptr<Gang> inner, std::vector<std::int64_t>& sizes)
      : ForwardingGang(std::move(inner)), sizes_(sizes) {}

 protected:
  void before(const Operation& operation) override { sizes_.push_back(operation.input.count()); }
  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override {
    return std::make_shared<SizeGang>(std::move(child), sizes_);
  }

 private:
  std::vector<std::int64_t>& sizes_;
};

TEST(SizesOnlyGang, MovesOneElementOfEach) {
  const sim::Report report = sim::Simulation({.world_size = 2}).run([](sim::SimulatedRank& rank) {
    const auto gang = without_data(rank.root(), MessageSizes::checked);
    std::vector<float> values(4, static_cast<float>(rank.rank()));
    std::vector<float> all(8, 9);
    gang->all_reduce(view(values), ReduceOperation::mean);
    gang->all_gather(view(all), view(values));
    const auto child = gang->split({.color = 0});
    child->broadcast(view(values));
    const auto own = static_cast<float>(rank.rank());
    EXPECT_EQ(values, (std::vector<float>{0.5F, own, own, own}));
    EXPECT_EQ(all, (std::vector<float>{0.5F, 0.5F, 9, 9, 9, 9, 9, 9}));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SizesOnlyGang, SizesStillHaveToAgree) {
  const sim::Report report = sim::Simulation({.world_size = 2}).run([](sim::SimulatedRank& rank) {
    const auto gang = without_data(rank.root(), MessageSizes::checked);
    std::vector<float> values(static_cast<std::size_t>(4 + rank.rank()));
    gang->all_reduce(view(values), ReduceOperation::sum);
  });
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].id, "mismatch_count");
}

TEST(SizesOnlyGang, AMessageMayMeetABatch) {
  const sim::Report report = sim::Simulation({.world_size = 2}).run([](sim::SimulatedRank& rank) {
    const auto gang = without_data(rank.root(), MessageSizes::unknown);
    std::vector<float> values(4);
    if (rank.rank() == 0) return gang->send(view(values), 1);
    const PointToPoint message{.kind = OperationKind::recv, .tensor = view(values), .peer = 0};
    gang->batch({&message, 1});
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SizesOnlyGang, AMessageOfAChildMayMeetABatch) {
  const sim::Report report = sim::Simulation({.world_size = 2}).run([](sim::SimulatedRank& rank) {
    const auto child = without_data(rank.root(), MessageSizes::unknown)->split({.color = 0});
    std::vector<float> values(4);
    if (rank.rank() == 0) return child->send(view(values), 1);
    const PointToPoint message{.kind = OperationKind::recv, .tensor = view(values), .peer = 0};
    child->batch({&message, 1});
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SizesOnlyGang, DecoratorsSeeTheTensors) {
  std::vector<std::int64_t> sizes;
  sim::Simulation({.world_size = 1}).run([&sizes](sim::SimulatedRank& rank) {
    const auto decorated = std::make_shared<SizeGang>(rank.root(), sizes);
    const auto gang = without_data(decorated, MessageSizes::checked);
    std::vector<float> values(4, 1);
    gang->all_reduce(view(values), ReduceOperation::sum);
  });
  EXPECT_EQ(sizes, std::vector<std::int64_t>{4});
}

TEST(SizesOnlyGang, EachChunkHasAnElement) {
  const sim::Report report = sim::Simulation({.world_size = 2}).run([](sim::SimulatedRank& rank) {
    const auto gang = without_data(rank.root(), MessageSizes::checked);
    const auto own = static_cast<float>(10 * rank.rank());
    const std::vector<float> sent{own + 1, own + 2, own + 3, own + 4};
    std::vector<float> received(4, 9);
    gang->all_to_all(view(received), view(sent));
    EXPECT_EQ(received, rank.rank() == 0 ? (std::vector<float>{1, 11, 9, 9})
                                         : (std::vector<float>{2, 12, 9, 9}));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SizesOnlyGang, OtherBackendsKeepTheirData) {
  const auto gang = make_fake_gang({.size = 2});
  EXPECT_EQ(without_data(gang, MessageSizes::checked), gang);
}

}  // namespace
}  // namespace gang::harness::program_file
