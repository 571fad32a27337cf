#include "sim/backends/gloo/gloo_explanation.h"

#include "sim/further_runs/settled_run.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// One finding of a world of Gloo's, with its further runs.
Finding only_finding(int world_size, const RankProgram& program) {
  const SimulationOptions options{.world_size = world_size, .backend = SimulatedBackend::gloo};
  const Report report = run_settled(options, program);
  EXPECT_THAT(report.findings, testing::SizeIs(1)) << to_string(report);
  return report.findings.empty() ? Finding() : report.findings.front();
}

void expect_mismatch(std::string_view id, const std::function<void(SimulatedRank&, bool)>& call) {
  const Finding finding =
      only_finding(4, [&call](SimulatedRank& rank) { call(rank, rank.rank() == 2); });
  EXPECT_EQ(finding.id, id) << to_string(finding);
  EXPECT_THAT(finding.ranks, ElementsAre(2)) << to_string(finding);
  EXPECT_EQ(to_string(finding.location), "train.cc:2") << to_string(finding);
}

CallSite place(bool is_odd) { return CallSite::at("train.cc", is_odd ? 2 : 1); }

TEST(GlooExplanation, NamesTheFieldInWhichCollectivesDiffer) {
  expect_mismatch("mismatch_operation", [](SimulatedRank& rank, bool is_odd) {
    float value = 1.0F;
    if (is_odd) return rank.root()->barrier({}, place(is_odd));
    rank.root()->all_reduce(view_of(value), ReduceOperation::sum, {}, place(is_odd));
  });
  expect_mismatch("mismatch_count", [](SimulatedRank& rank, bool is_odd) {
    std::vector<float> values(is_odd ? 5 : 4);
    rank.root()->all_reduce(view(values), ReduceOperation::sum, {}, place(is_odd));
  });
  expect_mismatch("mismatch_data_type", [](SimulatedRank& rank, bool is_odd) {
    float value = 1.0F;
    std::int32_t number = 1;
    rank.root()->all_reduce(is_odd ? view_of(number) : view_of(value), ReduceOperation::sum, {},
                            place(is_odd));
  });
  expect_mismatch("mismatch_reduce_operation", [](SimulatedRank& rank, bool is_odd) {
    float value = 1.0F;
    rank.root()->all_reduce(view_of(value), is_odd ? ReduceOperation::max : ReduceOperation::sum,
                            {}, place(is_odd));
  });
  expect_mismatch("mismatch_root", [](SimulatedRank& rank, bool is_odd) {
    float value = 1.0F;
    rank.root()->broadcast(view_of(value), is_odd ? 1 : 0, {}, place(is_odd));
  });
}

TEST(GlooExplanation, StartedCollectivesDifferLikewise) {
  expect_mismatch("mismatch_count", [](SimulatedRank& rank, bool is_odd) {
    std::vector<float> values(is_odd ? 5 : 4);
    Work work =
        rank.root()->start_all_reduce(view(values), ReduceOperation::sum, {}, place(is_odd));
    work.wait();
  });
}

// Two gangs with the same members and name are two gangs.
TEST(GlooExplanation, GangsAreToldApartByMoreThanTheirMembers) {
  const Finding finding = only_finding(2, [](SimulatedRank& rank) {
    const auto a = rank.root()->split({.color = 0}, {.name = "g"});
    const auto b = rank.root()->split({.color = 0}, {.name = "g"});
    float value = 1.0F;
    if (rank.rank() == 0) return a->barrier();
    b->all_reduce(view_of(value), ReduceOperation::sum);
  });
  EXPECT_EQ(finding.id.find("mismatch_operation"), std::string::npos) << to_string(finding);
}

void pass(SimulatedRank& rank, std::span<float> sent, std::span<float> received, int tag) {
  if (rank.rank() == 0) rank.root()->send(view(sent), 1, 1, {}, CallSite::at("train.cc", 1));
  if (rank.rank() == 1) rank.root()->recv(view(received), 0, tag, {}, CallSite::at("train.cc", 2));
}

TEST(GlooExplanation, NamesTheFieldInWhichMessagesDiffer) {
  const Finding tag = only_finding(2, [](SimulatedRank& rank) {
    std::vector<float> values(4);
    pass(rank, values, values, 2);
  });
  EXPECT_EQ(tag.id, "mismatch_tag");
  EXPECT_THAT(tag.ranks, ElementsAre(0, 1));
  EXPECT_EQ(to_string(tag.location), "train.cc:2");
  const Finding count = only_finding(2, [](SimulatedRank& rank) {
    std::vector<float> values(4);
    pass(rank, values, std::span(values).first(3), 1);
  });
  EXPECT_EQ(count.id, "mismatch_count");
  EXPECT_THAT(count.ranks, ElementsAre(0, 1));
}

TEST(GlooExplanation, WrongTagsFromTheSameLinesAreOneFinding) {
  const Finding finding = only_finding(6, [](SimulatedRank& rank) {
    float value = 0.0F;
    const int peer = rank.rank() ^ 1;
    if (rank.rank() % 2 == 0)
      rank.root()->send(view_of(value), peer, 1, {}, CallSite::at("train.cc", 1));
    else
      rank.root()->recv(view_of(value), peer, 2, {}, CallSite::at("train.cc", 2));
  });
  EXPECT_EQ(finding.id, "mismatch_tag");
  EXPECT_THAT(finding.ranks, ElementsAre(0, 1, 2, 3, 4, 5));
}

// With buffered sends, the same program completes: the order is wrong, not the tags.
TEST(GlooExplanation, MessagesThatAreReceivedInAnotherOrderAreAHazard) {
  const Finding finding = only_finding(2, [](SimulatedRank& rank) {
    float value = 0.0F;
    for (const int tag : {1, 2}) {
      if (rank.rank() == 0) rank.root()->send(view_of(value), 1, tag);
      if (rank.rank() == 1) rank.root()->recv(view_of(value), 0, 3 - tag);
    }
  });
  EXPECT_EQ(finding.id, "buffering_hazard") << to_string(finding);
}

TEST(GlooExplanation, MessagesThatWaitForEachOtherAreACycle) {
  const Finding finding = only_finding(3, [](SimulatedRank& rank) {
    float value = 0.0F;
    rank.root()->recv(view_of(value), (rank.rank() + 1) % 3, 0, {}, CallSite::at("train.cc", 7));
  });
  EXPECT_EQ(finding.id, "point_to_point_cycle");
  EXPECT_THAT(finding.ranks, ElementsAre(0, 1, 2));
  EXPECT_EQ(finding.location.line, 7U);
}

TEST(GlooExplanation, GangsInDifferentOrdersAreACycleAcrossGangs) {
  const Finding finding = only_finding(4, [](SimulatedRank& rank) {
    const auto tp = rank.root()->split({.color = rank.rank() / 2});
    const auto dp = rank.root()->split({.color = rank.rank() % 2});
    const bool begins_with_dp = rank.rank() == 0 || rank.rank() == 3;
    (begins_with_dp ? dp : tp)->barrier();
    (begins_with_dp ? tp : dp)->barrier();
  });
  EXPECT_EQ(finding.id, "cross_gang_cycle") << to_string(finding);
  EXPECT_THAT(finding.ranks, ElementsAre(0, 1, 2, 3));
}

TEST(GlooExplanation, AMessageThatIsReceivedOnAnotherGangNamesBoth) {
  const Finding finding = only_finding(2, [](SimulatedRank& rank) {
    const auto there = rank.root()->split({.color = 0});
    const auto back = rank.root()->split({.color = 0});
    float value = 0.0F;
    if (rank.rank() == 0) there->send(view_of(value), 1, 0, {}, CallSite::at("train.cc", 1));
    if (rank.rank() == 1) back->recv(view_of(value), 0, 0, {}, CallSite::at("train.cc", 2));
  });
  EXPECT_EQ(finding.id, "mismatch_gang") << to_string(finding);
  EXPECT_THAT(finding.ranks, ElementsAre(0, 1));
  EXPECT_EQ(finding.location.line, 2U);
}

TEST(GlooExplanation, ACollectiveOnAnotherGangOfTheSameMembersNamesWhoCalledThatOne) {
  const Finding finding = only_finding(4, [](SimulatedRank& rank) {
    const auto one = rank.root()->split({.color = 0});
    const auto other = rank.root()->split({.color = 0});
    (rank.rank() == 2 ? other : one)->barrier();
  });
  EXPECT_EQ(finding.id, "mismatch_gang") << to_string(finding);
  EXPECT_THAT(finding.ranks, ElementsAre(2));
}

// The receive is given up while nothing is under way that could end it.
TEST(GlooExplanation, AReceiveFromAnyRankThatNothingMeetsEndsWithTheRun) {
  const Finding finding = only_finding(3, [](SimulatedRank& rank) {
    float value = 0.0F;
    if (rank.rank() == 0) rank.root()->recv(view_of(value), any_rank, 1);
    if (rank.rank() == 2) rank.root()->send(view_of(value), 0, 2);
  });
  EXPECT_EQ(finding.id, "mismatch_tag") << to_string(finding);
}

}  // namespace
}  // namespace gang::sim
