#include "sim/verdict/mismatch.h"

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

using Call = std::function<void(Gang&)>;

constexpr int world_size = 5;
constexpr int odd_rank = 3;

// Rank 3 calls `odd` where all others call `usual`; every one of them must be told.
Report differ(const Call& usual, const Call& odd, MatchRules rules = {}) {
  return run({.world_size = world_size,
              .strict_blocking = rules.strict_blocking,
              .strict_labels = rules.strict_labels},
             [&](SimulatedRank& rank) {
               rank.root()->barrier();
               const auto error = gang_error_of([&] {
                 const Call& call = rank.rank() == odd_rank ? odd : usual;
                 call(*rank.root());
               });
               ASSERT_TRUE(error) << "rank " << rank.rank() << " was told success";
               EXPECT_EQ(error->kind(), GangErrorKind::mismatch);
               EXPECT_THAT(error->ranks_at_fault(), ElementsAre(odd_rank));
             });
}

std::array<std::int32_t, 5> ints{};
std::array<float, 5> floats{};

struct Difference {
  std::string id;
  Call usual;
  Call odd;
  std::string usual_text;  // how the message shows the two
  std::string odd_text;
};

std::vector<Difference> differences() {
  const auto sum = [](Gang& g) { g.all_reduce(view(ints), ReduceOperation::sum); };
  return {
      {"mismatch_operation", sum, [](Gang& g) { g.broadcast(view(ints)); },
       "all_reduce #1 sum i32[5]", "broadcast #1 i32[5] from rank 0"},
      {"mismatch_data_type", sum, [](Gang& g) { g.all_reduce(view(floats), ReduceOperation::sum); },
       "i32[5]", "f32[5]"},
      {"mismatch_count", sum,
       [](Gang& g) { g.all_reduce(view(ints).slice(0, 4), ReduceOperation::sum); }, "i32[5]",
       "i32[4]"},
      {"mismatch_reduce_operation", sum,
       [](Gang& g) { g.all_reduce(view(ints), ReduceOperation::max); }, "sum", "max"},
      {"mismatch_root", [](Gang& g) { g.broadcast(view(ints), 0); },
       [](Gang& g) { g.broadcast(view(ints), 2); }, "from rank 0", "from rank 2"},
      {"mismatch_ranks", [](Gang& g) { child_of(g, {0, 1}); }, [](Gang& g) { child_of(g, {1, 0}); },
       "create_gang", "create_gang"},
      {"mismatch_ranks", [](Gang& g) { child_of(g, {0, 1}); },
       [](Gang& g) { child_of(g, {0, 1, 2}); }, "create_gang", "create_gang"},
      {"mismatch_label", [](Gang& g) { g.barrier({.label = "step 1"}); },
       [](Gang& g) { g.barrier({.label = "step 2"}); }, "step 1", "step 2"},
  };
}

TEST(Mismatch, InAnyFieldIsFoundAndNamesTheOddRankAndBothCalls) {
  for (const Difference& difference : differences()) {
    const Report report = differ(difference.usual, difference.odd);
    ASSERT_THAT(ids_of(report), ElementsAre(difference.id));
    const Finding& finding = report.findings[0];
    EXPECT_THAT(finding.ranks, ElementsAre(odd_rank)) << finding.message;
    EXPECT_EQ(to_string(finding.gang), "root[0-4]");
    EXPECT_THAT(finding.message, HasSubstr("Rank 3 called"));
    EXPECT_THAT(finding.message, HasSubstr("ranks 0-2,4 called"));
    EXPECT_THAT(finding.message, HasSubstr(difference.usual_text));
    EXPECT_THAT(finding.message, HasSubstr(difference.odd_text));
    EXPECT_THAT(to_string(finding.call), HasSubstr(difference.odd_text));
    EXPECT_EQ(report.outcome, Outcome::completed) << "everybody has handled the error";
  }
}

TEST(Mismatch, InTheBlockingFormIsOneOnlyWhereAskedFor) {
  const Call blocking = [](Gang& g) { g.barrier(); };
  const Call started = [](Gang& g) { g.start_barrier().wait(); };
  const Report report = differ(blocking, started, {.strict_blocking = true});
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_blocking"));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("Rank 3 called start_barrier #1 at "));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("ranks 0-2,4 called barrier #1 at "));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("They differ in the blocking form."));
  ASSERT_TRUE(report.findings[0].divergence);
  EXPECT_EQ(report.findings[0].divergence->next.at(0).note, "blocking");
  EXPECT_EQ(report.findings[0].divergence->next.at(1).note, "started");
  EXPECT_THAT(to_string(report), HasSubstr("barrier #1 (started)"));
}

TEST(Mismatch, InALabelThatOneDoesNotGiveIsOneOnlyWhereAskedFor) {
  const Call plain = [](Gang& g) { g.barrier(); };
  const Call labelled = [](Gang& g) { g.barrier({.label = "new_group"}); };
  const Report report = differ(plain, labelled, {.strict_labels = true});
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_label"));
  EXPECT_THAT(full_message(report.findings[0]),
              HasSubstr("Rank 3 called barrier #1 \"new_group\" at "));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("ranks 0-2,4 called barrier #1 at "));
  EXPECT_TRUE(run(2, [&](SimulatedRank& rank) {
                (rank.rank() == 0 ? plain : labelled)(*rank.root());
              }).holds());
}

TEST(Mismatch, BlockingCallsMatchStartedOnesUnlessAskedFor) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 0)
      rank.root()->barrier();
    else
      rank.root()->start_barrier().wait();
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Mismatch, TheMessageNamesBothCallSites) {
  const Report report =
      differ([](Gang& g) { g.barrier({}, CallSite::at("usual.cc", 10)); },
             [](Gang& g) { g.broadcast(view(ints), 0, {}, CallSite::at("odd.cc", 20)); });
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("at odd.cc:20"));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("at usual.cc:10"));
  EXPECT_EQ(to_string(report.findings[0].location), "odd.cc:20");
}

TEST(Mismatch, TheFirstFieldThatDiffersIsTheFinding) {
  const Report report =
      differ([](Gang& g) { g.reduce(view(ints), ReduceOperation::sum, 0); },
             [](Gang& g) { g.reduce(view(floats).slice(0, 2), ReduceOperation::max, 1); });
  EXPECT_THAT(ids_of(report), ElementsAre("mismatch_data_type"));
  const Report count =
      differ([](Gang& g) { g.reduce(view(ints), ReduceOperation::sum, 0); },
             [](Gang& g) { g.reduce(view(ints).slice(0, 2), ReduceOperation::max, 1); });
  EXPECT_THAT(ids_of(count), ElementsAre("mismatch_count"));
}

// Half is enough to be one gang with a wrong member.
TEST(Mismatch, ListsThatShareHalfOfTheirRanksAreOneGang) {
  const auto create = [](std::vector<int> ranks) -> Call {
    return [ranks](Gang& g) { child_of(g, ranks); };
  };
  EXPECT_THAT(ids_of(differ(create({0, 1}), create({1, 2}))), ElementsAre("mismatch_ranks"));
  EXPECT_THAT(ids_of(differ(create({0, 1, 2}), create({2, 3, 4}))),
              ElementsAre("group_creation_order"));
}

TEST(Mismatch, ATieNamesEverybody) {
  const Report report = run(4, [](SimulatedRank& rank) {
    const auto operation = rank.rank() < 2 ? ReduceOperation::sum : ReduceOperation::max;
    const auto error = gang_error_of([&] { rank.root()->all_reduce(view(ints), operation); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->ranks_at_fault(), ElementsAre(0, 1, 2, 3));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_reduce_operation"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("Ranks 0-1 called"));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("ranks 2-3 called"));
}

TEST(Mismatch, RanksAreThoseOfTheRoot) {
  const Report report = run(4, [](SimulatedRank& rank) {
    const auto child = child_of(*rank.root(), {3, 2, 1}, {.name = "tail"});
    if (!child) return;
    const auto error = gang_error_of([&] { child->broadcast(view(ints), rank.rank() == 1); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->ranks_at_fault(), ElementsAre(2)) << "of the gang";
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_root"));
  const Finding& finding = report.findings[0];
  EXPECT_THAT(finding.ranks, ElementsAre(1)) << "of the root";
  EXPECT_EQ(to_string(finding.gang), "tail[3,2,1]");
  EXPECT_EQ(finding.call.peer, 2) << "member 1";
  EXPECT_THAT(full_message(finding), HasSubstr("Rank 1 called broadcast #0 i32[5] from rank 2"));
  EXPECT_THAT(full_message(finding), HasSubstr("ranks 2-3 called broadcast #0 i32[5] from rank 3"));
}

TEST(Mismatch, TheRootOfACallThatFailsForItIsOneOfTheRoot) {
  const Report report = run(4, [](SimulatedRank& rank) {
    const auto child = child_of(*rank.root(), {3, 2, 1}, {.name = "tail"});
    if (child) child->broadcast(view(ints), rank.rank() == 1);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_root"));
  EXPECT_THAT(report.findings[0].consequences,
              testing::Contains(
                  "rank 1 failed in broadcast #0 i32[5] from rank 2 on tail[3,2,1] (mismatch)"));
}

TEST(Mismatch, IsFoundAtQuiescenceWhereFurtherMembersNeverCome) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 2) return;
    const auto error = gang_error_of([&] { rank.root()->broadcast(view(ints), rank.rank()); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::mismatch);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_root"));
  EXPECT_EQ(report.outcome, Outcome::completed);
}

TEST(Mismatch, OfStartedOperationsIsFoundAtQuiescenceToo) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 2) return;
    Work work = rank.root()->start_broadcast(view(ints), rank.rank());
    EXPECT_TRUE(gang_error_of([&work] { work.wait(); }));
  });
  EXPECT_THAT(ids_of(report), ElementsAre("mismatch_root"));
}

TEST(Mismatch, LabelsMatchWhereOneIsNotGiven) {
  const Report report = run(4, [](SimulatedRank& rank) {
    rank.root()->barrier({.label = rank.rank() == 1 ? "step 1" : ""});
    rank.root()->barrier({.label = "step 2"});
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Mismatch, LabelsThatDifferAreFoundBehindOneThatIsNotGiven) {
  const Report report = run(4, [](SimulatedRank& rank) {
    const char* labels[] = {"", "step 1", "step 2", "step 2"};
    EXPECT_TRUE(gang_error_of([&] { rank.root()->barrier({.label = labels[rank.rank()]}); }));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_label"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
}

TEST(Mismatch, TheFirstDifferenceBreaksTheGangForGood) {
  const Report report = run(2, [](SimulatedRank& rank) {
    EXPECT_TRUE(gang_error_of([&] { rank.root()->broadcast(view(ints), rank.rank()); }));
    const auto again = gang_error_of([&] { rank.root()->barrier(); });
    ASSERT_TRUE(again);
    EXPECT_EQ(again->kind(), GangErrorKind::mismatch);
  });
  EXPECT_THAT(ids_of(report), ElementsAre("mismatch_root"));
}

TEST(Mismatch, CountsByRankOfAnAllGatherMustBeTheSame) {
  const Report report = run(3, [](SimulatedRank& rank) {
    std::array<std::int32_t, 2> own{};
    std::array<std::int32_t, 6> all{};
    const bool is_odd = rank.rank() == 1;
    const std::array<std::int64_t, 3> counts = {is_odd ? 3 : 2, 2, is_odd ? 1 : 2};
    const auto error =
        gang_error_of([&] { rank.root()->all_gather(view(all), view(own), counts); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->ranks_at_fault(), ElementsAre(1));
  });
  ASSERT_EQ(report.findings.size(), 1U) << to_string(report);
  EXPECT_EQ(report.findings[0].id, "mismatch_count");
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("(3, 2, 1 by rank)"));
}

TEST(Mismatch, SplitsThatFitButForOneRankNameThatRank) {
  const Report report = run(4, [](SimulatedRank& rank) {
    std::array<std::int32_t, 8> sent{};
    std::array<std::int32_t, 4> received{};
    const std::int64_t share = rank.rank() == 2 ? 2 : 1;
    const std::array<std::int64_t, 4> in = {share, share, share, share};
    const std::array<std::int64_t, 4> out = {1, 1, 1, 1};
    EXPECT_THROW(rank.root()->all_to_all(view(received), view(sent).slice(0, 4 * share),
                                         {.output = out, .input = in}),
                 GangError);
  });
  ASSERT_EQ(report.findings.size(), 1U) << to_string(report);
  EXPECT_EQ(report.findings[0].id, "mismatch_count");
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(2));
  EXPECT_THAT(full_message(report.findings[0]),
              HasSubstr("Rank 2 sends 2 elements to rank 0, which expects 1 from it."));
}

TEST(Mismatch, ALabelExplainsTheArgumentsThatDifferWithIt) {
  const Report report = run(4, [](SimulatedRank& rank) {
    std::vector<float> values(rank.rank() == 0 ? 4 : 8);
    rank.root()->all_reduce(view(values), ReduceOperation::sum,
                            {.label = rank.rank() == 0 ? "head" : "trunk"});
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_label"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0));
}

TEST(Mismatch, TheOperationExplainsTheLabel) {
  const Report report = run(2, [](SimulatedRank& rank) {
    float value = 0;
    if (rank.rank() == 0)
      rank.root()->barrier({.label = "epoch"});
    else
      rank.root()->all_reduce(view_of(value), ReduceOperation::sum, {.label = "loss"});
  });
  EXPECT_THAT(ids_of(report), ElementsAre("mismatch_operation"));
}

TEST(Mismatch, TheLabelsOfCallsThatMakeGangsMustBeEqual) {
  const Report report = run(3, [](SimulatedRank& rank) {
    const std::string_view label = rank.rank() == 1 ? "decoder" : "encoder";
    EXPECT_TRUE(gang_error_of([&] { rank.root()->split({.color = 0}, {.label = label}); }));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("mismatch_label"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_THAT(to_string(report), HasSubstr("\"decoder\""));
  EXPECT_THAT(ids_of(run(2,
                         [](SimulatedRank& rank) {
                           rank.root()->create_gang(std::vector{0, 1}, {.label = "same"});
                         })),
              IsEmpty());
}

}  // namespace
}  // namespace gang::sim
