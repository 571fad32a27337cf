// How create_gang and split reach a backend, and which calls never do.
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "gang/fake_gang.h"
#include "gang/forwarding_gang.h"
#include "tests/gang/capturing_gang.h"

namespace gang {
namespace {

using test::CapturingGang;
using std::chrono_literals::operator""ms;

std::uint64_t detail_of(std::vector<int> ranks) {
  CapturingGang gang(8);
  gang.create_gang(ranks);
  return gang.only().collective().detail;
}

TEST(CreateGang, PassesTheRanksOnInTheirOrder) {
  CapturingGang gang(8);
  gang.create_gang(std::vector{4, 0, 2}, {.name = "odd", .timeout = 20ms});
  EXPECT_EQ(gang.only().ranks, (std::vector{4, 0, 2}));
  EXPECT_EQ(to_string(gang.only().collective()), "create_gang #0 of 3 ranks");
}

TEST(Shrink, IsNotSupportedUnlessTheBackendCan) {
  CapturingGang gang(2);
  EXPECT_EQ(test::message_of<NotSupported>([&gang] { gang.shrink(); }),
            "shrink on " + label_of(gang.info()) + ": backend " + gang.info().backend +
                " cannot shrink a gang; sim, gloo, nccl and fake can");
}

TEST(Shrink, ChecksItsDurationsAndThatTheGangIsOpen) {
  CapturingGang gang(2);
  EXPECT_THROW(gang.shrink({.timeout = Duration(0)}), InvalidArgument);
  EXPECT_THROW(gang.shrink({.grace = Duration(0)}), InvalidArgument);
  EXPECT_THROW(gang.shrink({.grace = no_timeout}), InvalidArgument);
  gang.close();
  EXPECT_THROW(gang.shrink(), InvalidOperation);
}

TEST(CreateGang, ReturnsWhatTheBackendMadeOrNull) {
  CapturingGang gang(8);
  EXPECT_EQ(gang.create_gang(std::vector{1, 2}), nullptr);
  const auto child = std::make_shared<CapturingGang>(2);
  gang.reaction = [&child](Operation& operation) { *operation.extras->created = child; };
  EXPECT_EQ(gang.create_gang(std::vector{0, 1}), child);
}

// The hash is part of fingerprints and traces, so it must never change.
TEST(CreateGang, TheRankListIsPartOfTheFingerprint) {
  EXPECT_EQ(detail_of({0, 1}), detail_of({0, 1}));
  EXPECT_EQ(detail_of({0}), 0x4d25767f9dce13f5u);
  std::set<std::uint64_t> details;
  for (const std::vector<int>& ranks :
       std::vector<std::vector<int>>{{0}, {1}, {0, 1}, {1, 0}, {0, 1, 2}, {0, 2, 1}, {7, 1}})
    EXPECT_TRUE(details.insert(detail_of(ranks)).second);
}

// fairseq2's B1: a rank equal to the size was accepted, and made a gang larger than its parent.
TEST(CreateGang, ARankEqualToTheSizeIsRefused) {
  CapturingGang gang(2);
  EXPECT_EQ(test::message_of<InvalidArgument>([&] { gang.create_gang(std::vector{0, 1, 2}); }),
            "create_gang on root[0,1]: an entry of ranks is 2; must be 0 to 1");
  EXPECT_TRUE(gang.sent.empty());
}

TEST(CreateGang, EmptyRepeatedAndNegativeRanksAreRefused) {
  CapturingGang gang(4);
  EXPECT_THROW(gang.create_gang({}), InvalidArgument);
  EXPECT_THROW(gang.create_gang(std::vector{1, 2, 1}), InvalidArgument);
  EXPECT_THROW(gang.create_gang(std::vector{0, -1}), InvalidArgument);
  EXPECT_TRUE(gang.sent.empty());
}

TEST(CreateGang, MayNameAllRanksInAnyOrder) {
  CapturingGang gang(4);
  gang.create_gang(std::vector{3, 2, 1, 0});
  EXPECT_EQ(gang.sent.size(), 1u);
}

TEST(CreateGang, TimeoutsOfChildrenMustBePositive) {
  CapturingGang gang(4);
  EXPECT_THROW(gang.create_gang(std::vector{0}, {.timeout = Duration(0)}), InvalidArgument);
  EXPECT_THROW(gang.split({.color = 0}, {.timeout = Duration(0)}), InvalidArgument);
  EXPECT_TRUE(gang.sent.empty());
}

TEST(Split, PassesColorKeyAndOptionsOn) {
  CapturingGang gang(4);
  const GangOptions options{.name = "dp", .timeout = 20ms};
  gang.split({.color = 3, .key = -7}, options);
  EXPECT_EQ(gang.only().extras.color, 3);
  EXPECT_EQ(gang.only().extras.key, -7);
  EXPECT_EQ(gang.only().extras.gang_options, &options);
  EXPECT_EQ(to_string(gang.only().collective()), "split #0");
}

TEST(Split, ColorsAreNotPartOfTheMatch) {
  CapturingGang gang(4);
  gang.split({.color = 0});
  gang.split({.color = 1});
  EXPECT_EQ(gang.sent[0].collective().detail, gang.sent[1].collective().detail);
  EXPECT_EQ(gang.sent[0].collective().count, gang.sent[1].collective().count);
}

TEST(Split, ARankMayJoinNoChild) {
  CapturingGang gang(4);
  EXPECT_EQ(gang.split({}), nullptr);
  EXPECT_EQ(gang.only().extras.color, no_color);
}

TEST(Split, OtherNegativeColorsAreRefused) {
  CapturingGang gang(4);
  EXPECT_EQ(test::message_of<InvalidArgument>([&] { gang.split({.color = -2}); }),
            "split on root[0-3]: color is -2; must be 0 or more, or no_color");
  EXPECT_TRUE(gang.sent.empty());
}

TEST(CreateGang, CarriesALabelAsOtherCallsDo) {
  CapturingGang gang(8);
  gang.create_gang(std::vector{0, 1}, {.label = "stage 1"});
  gang.split({.color = 0}, {.label = "stage 2"});
  gang.split({.color = 0});
  EXPECT_EQ(gang.sent[0].label, "stage 1");
  EXPECT_EQ(gang.sent[1].label, "stage 2");
  EXPECT_EQ(gang.sent[2].label, "");
  EXPECT_TRUE(gang.sent[0].collective().blocking);
}

// Notes how long it is to wait for others.
class ShrinkingGang final : public ForwardingGang {
 public:
  using ForwardingGang::ForwardingGang;
  Duration grace{0};

 protected:
  std::shared_ptr<Gang> do_shrink(const ShrinkOptions& options, const CallSite&) override {
    grace = *options.grace;
    return nullptr;
  }
};

TEST(Shrink, WaitsForAsLongAsTheGangsTimeoutUnlessTold) {
  ShrinkingGang gang(make_fake_gang({.size = 2, .timeout = 20ms}));
  gang.shrink();
  EXPECT_EQ(gang.grace, Duration(20ms));
  gang.shrink({.grace = 5ms});
  EXPECT_EQ(gang.grace, Duration(5ms));
}

}  // namespace
}  // namespace gang
