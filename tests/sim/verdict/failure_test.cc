#include "sim/verdict/failure.h"

#include <nlohmann/json.hpp>

#include "gang/object.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(Failure, AnExceptionThatLeavesAProgramIsAFindingOfThatRank) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 1) throw std::runtime_error("out of cheese");
  });
  EXPECT_EQ(report.outcome, Outcome::failed);
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(full_message(report.findings[0]),
            "Rank 1 ended with an exception before its first call: out of cheese");
  EXPECT_EQ(to_string(report.findings[0].location), "");
}

TEST(Failure, ItSaysWhatTheRankCalledLast) {
  const Report report = run(3, [](SimulatedRank& rank) {
    const auto pair = child_of(*rank.root(), {1, 2});
    rank.root()->barrier({}, CallSite::at("train.cc", 7));
    if (rank.rank() == 0) return;
    std::int32_t value = 0;
    if (rank.rank() == 1) pair->send(view_of(value), 1, 0, {}, CallSite::at("train.cc", 8));
    if (rank.rank() == 2) pair->recv(view_of(value), 0, 0, {}, CallSite::at("train.cc", 9));
    if (rank.rank() == 2) throw std::runtime_error("out of cheese");
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:9");
  EXPECT_EQ(full_message(report.findings[0]),
            "Rank 2 ended with an exception after recv on root.0[1,2] at train.cc:9: out of "
            "cheese");
}

TEST(Failure, BeforeTheFirstCallItPointsAtTheOneThatTheOthersCouldNotComplete) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 1) throw std::runtime_error("disk full");
    rank.root()->barrier({}, CallSite::at("train.cc", 7));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:7");
}

TEST(Failure, ItSaysSoToWhenTheGangOfThatCallIsGone) {
  const Report report = run(2, [](SimulatedRank& rank) {
    child_of(*rank.root(), {0, 1})->barrier({}, CallSite::at("train.cc", 5));
    if (rank.rank() == 1) throw std::runtime_error("out of cheese");
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:5");
  EXPECT_THAT(full_message(report.findings[0]),
              HasSubstr("after barrier #0 on root.0[0,1] at train.cc"));
}

// Rank 1 leaves out the first call: its second one meets the first of the others.
TEST(Failure, WhoMadeTheLastCallElsewhereIsNamed) {
  const Report report = run(4, [](SimulatedRank& rank) {
    for (std::uint32_t line = rank.rank() == 1 ? 6 : 5; line < 7; ++line) {
      Object epoch[] = {Object(static_cast<std::int64_t>(line))};
      const Object expected = epoch[0];
      rank.root()->broadcast_objects(epoch, 0, {}, CallSite::at("train.cc", line));
      if (epoch[0] != expected) throw std::runtime_error("another epoch");
    }
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  const auto& misses = report.findings[0].near_misses;
  ASSERT_EQ(misses.size(), 1U);
  EXPECT_EQ(misses[0].field, place_field);
  EXPECT_THAT(misses[0].second.ranks, ElementsAre(0, 2, 3));
  EXPECT_EQ(to_string(misses[0].second.location), "train.cc:5");
  EXPECT_THAT(to_string(report), HasSubstr("ranks 0,2-3 made that call at train.cc:5"));
}

TEST(Failure, ACallThatIsRefusedIsPointedAt) {
  const Report report = run(2, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    rank.root()->barrier({}, CallSite::at("train.cc", 3));
    rank.root()->broadcast(view_of(value), rank.rank() == 1 ? 9 : 0, {},
                           CallSite::at("train.cc", 4));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:4");
  EXPECT_THAT(full_message(report.findings[0]),
              HasSubstr("Rank 1 ended with an exception at train.cc:4: broadcast on root"));
}

TEST(Failure, RanksThatFailAlikeShareAFinding) {
  const Report report = run(1024, [](SimulatedRank& rank) {
    rank.root()->barrier({}, CallSite::at("train.cc", 3));
    throw std::runtime_error("out of cheese");
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_EQ(report.findings[0].ranks.size(), 1024U);
  EXPECT_THAT(full_message(report.findings[0]),
              testing::StartsWith("Ranks 0-1023 ended with an exception after barrier #0 on root"));
}

TEST(Failure, OfSomethingElseThanAStandardExceptionIsAFindingToo) {
  const Report report = run(1, [](SimulatedRank&) { throw 42; });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_THAT(full_message(report.findings[0]), HasSubstr("not a std::exception"));
}

TEST(Failure, TheOthersAreToldAndNotLeftHanging) {
  const Report report = run(4, [](SimulatedRank& rank) {
    const auto child = child_of(*rank.root(), {2, 1, 0});
    if (rank.rank() == 1) throw std::runtime_error("gone");
    for (Gang* gang : {child.get(), rank.root().get()}) {
      if (gang == nullptr) continue;
      const auto error = gang_error_of([gang] { gang->barrier(); });
      ASSERT_TRUE(error);
      EXPECT_EQ(error->kind(), GangErrorKind::peer_failed);
      EXPECT_THAT(error->ranks_at_fault(), ElementsAre(1));
    }
  });
  EXPECT_EQ(report.outcome, Outcome::failed);
  EXPECT_THAT(ids_of(report), ElementsAre("rank_failed"));
}

TEST(Failure, ConsequencesStandInsideTheOneFinding) {
  const Report report = run(4, [](SimulatedRank& rank) {
    rank.root()->barrier();
    if (rank.rank() == 2) throw std::runtime_error("gone");
    rank.root()->barrier();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(2));
  EXPECT_THAT(report.findings[0].consequences,
              ElementsAre("ranks 0-1,3 failed in barrier #1 on root[0-3] (peer_failed)"));
}

TEST(Failure, OneOfAFurtherContextNamesIt) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 0) {
      const auto thread = rank.runtime().start_thread("loader", [&rank] {
        rank.runtime().sleep_for(1ms);
        throw std::runtime_error("no such file");
      });
    }
  });
  EXPECT_EQ(report.outcome, Outcome::failed);
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_EQ(full_message(report.findings[0]),
            "Rank 0 ended its context 'loader' with an exception before its first call: no such "
            "file");
}

TEST(Failure, ManyRanksThatFailOfOneCauseAreOneFinding) {
  const Report report = run(3000, [](SimulatedRank& rank) {
    if (rank.rank() == 7) throw std::runtime_error("gone");
    rank.root()->barrier();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_THAT(report.findings[0].consequences,
              ElementsAre("ranks 0-6,8-2999 failed in barrier #0 on root[0-2999] (peer_failed)"));
}

TEST(Failure, AbortEndsPendingAndLaterOperationsOfEveryMember) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 2) {
      rank.runtime().sleep_for(1ms);
      rank.root()->abort();
      rank.root()->abort();
    }
    for (int i = 0; i < 2; ++i) {
      const auto error = gang_error_of([&rank] { rank.root()->barrier(); });
      ASSERT_TRUE(error);
      EXPECT_EQ(error->kind(), GangErrorKind::aborted);
      EXPECT_EQ(rank.runtime().now(), 1ms);
    }
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(Failure, AbortOfAChildLeavesItsParentAlone) {
  const Report report = run(2, [](SimulatedRank& rank) {
    child_of(*rank.root(), {0, 1})->abort();
    EXPECT_EQ(count_members(*rank.root()), 2);
  });
  EXPECT_TRUE(report.holds());
}

TEST(Failure, AGangErrorTellsWhoWhereAndWhat) {
  run(2, [](SimulatedRank& rank) {
    const auto pair = child_of(*rank.root(), {1, 0}, {.name = "pair"});
    pair->barrier();
    if (rank.rank() == 0) {
      rank.runtime().sleep_for(4ms);
      return pair->abort();
    }
    std::array<float, 8> values{};
    const auto error = gang_error_of([&] { pair->all_reduce(view(values), ReduceOperation::max); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->gang(), "pair[1,0]");
    EXPECT_EQ(error->rank(), 0);
    EXPECT_EQ(error->sequence_number(), 1U);
    EXPECT_EQ(error->operation().kind, OperationKind::all_reduce);
    EXPECT_EQ(error->elapsed(), 4ms);
    EXPECT_THAT(error->what(), HasSubstr("all_reduce #1 max f32[8]"));
  });
}

TEST(Failure, UseAfterCloseIsAnErrorAndAFindingWhereItLeavesTheProgram) {
  const Report report = run(2, [](SimulatedRank& rank) {
    const auto child = child_of(*rank.root(), {0, 1});
    child->close();
    child->close();
    EXPECT_THROW(child->barrier(), InvalidOperation);
    rank.root()->barrier();
    if (rank.rank() == 1) child->barrier();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("use_after_close"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_THAT(to_string(report.findings[0].location), HasSubstr("failure_test.cc:"));
}

TEST(Failure, ClosingClosesChildren) {
  const Report report = run(2, [](SimulatedRank& rank) {
    const auto child = child_of(*rank.root(), {0, 1});
    const auto grandchild = child_of(*child, {0, 1});
    child->close();
    EXPECT_THROW(grandchild->barrier(), InvalidOperation);
    EXPECT_EQ(count_members(*rank.root()), 2);
  });
  EXPECT_TRUE(report.holds());
}

TEST(Failure, AGangStillOpenAfterTheProgramsIsAFinding) {
  std::vector<std::shared_ptr<Gang>> kept(2);
  const Report report = run(2, [&kept](SimulatedRank& rank) {
    kept[static_cast<std::size_t>(rank.rank())] = rank.root();
    if (rank.rank() == 1) rank.root()->close();
  });
  EXPECT_EQ(report.outcome, Outcome::completed);
  ASSERT_THAT(ids_of(report), ElementsAre("gang_not_closed"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0));
  EXPECT_EQ(to_string(report.findings[0].gang), "root[0,1]");
  EXPECT_EQ(full_message(report.findings[0]),
            "Rank 0 left root[0,1] open when every program had ended.");
  EXPECT_THROW(kept[0]->barrier(), InvalidOperation) << "it lives on without its simulation";
}

TEST(Failure, AnOpenGangIsSaidToBeMadeOrLastCalledWhereItWas) {
  std::vector<std::shared_ptr<Gang>> kept;
  const Report report = run(2, [&kept](SimulatedRank& rank) {
    const auto child =
        rank.root()->split({.color = 0}, {.name = "child"}, CallSite::at("train.cc", 4));
    rank.root()->barrier({}, CallSite::at("train.cc", 5));
    child->barrier({}, CallSite::at("train.cc", 6));
    kept.push_back(rank.root());
    kept.push_back(child);
  });
  ASSERT_THAT(ids_of(report), ElementsAre("gang_not_closed", "gang_not_closed"));
  EXPECT_EQ(full_message(report.findings[0]),
            "Ranks 0-1 left child[0,1], made at train.cc:4, open when every program had ended.");
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:4");
  EXPECT_EQ(full_message(report.findings[1]),
            "Ranks 0-1 left root[0,1], last called at train.cc:5, open when every program had "
            "ended.");
  EXPECT_EQ(to_string(report.findings[1].location), "train.cc:5");
}

// Letting go of a gang closes it, and closing closes its children: a kept child is not open.
TEST(Failure, AChildThatIsKeptIsClosedWithItsParent) {
  std::vector<std::shared_ptr<Gang>> kept(2);
  const Report report = run(2, [&kept](SimulatedRank& rank) {
    kept[static_cast<std::size_t>(rank.rank())] = child_of(*rank.root(), {0, 1});
  });
  EXPECT_TRUE(report.holds());
  EXPECT_TRUE(kept[0]->is_closed());
  EXPECT_THROW(kept[0]->barrier(), InvalidOperation);
}

// Ranks 4 and 6 of 8 do not come to a monitored barrier.
Report monitored(Gang::MissingRanks reported, const std::vector<int>& expected) {
  return run(8, [&](SimulatedRank& rank) {
    if (rank.rank() == 4 || rank.rank() == 6) rank.runtime().sleep_for(1s);
    const auto error = gang_error_of([&] { rank.root()->monitored_barrier(20ms, reported); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::timeout);
    EXPECT_EQ(error->ranks_at_fault(), expected);
    EXPECT_EQ(rank.runtime().now() == 20ms, error->elapsed() == 20ms);
  });
}

TEST(MonitoredBarrier, NamesAllMissingRanksToEverybody) {
  const Report report = monitored(Gang::MissingRanks::all, {4, 6});
  EXPECT_TRUE(report.holds()) << "the program has handled it";
  ASSERT_EQ(report.handled.size(), 1U);
  EXPECT_EQ(report.handled[0].id, finding_id::timed_out);
  EXPECT_THAT(report.handled[0].ranks, ElementsAre(4, 6));
}

TEST(MonitoredBarrier, OrOnlyTheFirst) {
  const Report report = monitored(Gang::MissingRanks::first, {4});
  EXPECT_THAT(report.handled.at(0).ranks, ElementsAre(4, 6)) << "the report has them all";
}

TEST(MonitoredBarrier, HoldsWhereAllComeInTime) {
  const Report report = run(4, [](SimulatedRank& rank) {
    rank.runtime().sleep_for(Duration(rank.rank()));
    rank.root()->monitored_barrier(20ms);
    EXPECT_EQ(rank.runtime().now(), Duration(3));
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(MonitoredBarrier, MayBeAbortedAtTheEndOfItsTime) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 0) {
      const auto error = gang_error_of([&rank] { rank.root()->monitored_barrier(20ms); });
      ASSERT_TRUE(error);
      EXPECT_EQ(error->kind(), GangErrorKind::aborted);
      return;
    }
    rank.runtime().sleep_for(20ms);
    if (rank.rank() == 1) rank.root()->abort();
    for (int i = 0; i < 5; ++i) rank.runtime().yield();  // rank 0 has returned by then
  });
  EXPECT_EQ(report.outcome, Outcome::completed);
}

TEST(MonitoredBarrier, ItsTimeoutFiresEvenWhereARankHasReturned) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) return;
    EXPECT_TRUE(gang_error_of([&rank] { rank.root()->monitored_barrier(20ms); }));
  });
  EXPECT_EQ(report.handled.size(), 1U) << to_string(report);
}

TEST(Unwinding, ARunThatIsOverIsNotDisturbedByHandlersThatAbort) {
  const Report report = run(4, [](SimulatedRank& rank) {
    if (rank.rank() == 3) return;
    try {
      Work work = rank.root()->start_barrier();
      rank.root()->barrier();
    } catch (...) {
      rank.root()->abort();
      throw std::runtime_error("wrapped");
    }
  });
  EXPECT_EQ(report.outcome, Outcome::deadlock);
  EXPECT_THAT(ids_of(report), ElementsAre("participant_missing"));
}

TEST(Failure, OfALongExceptionTheBeginningAndTheEndAreKept) {
  const Report report = run(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1)
      throw std::runtime_error("Traceback:" + std::string(4'999'970, 'x') + "RuntimeError: locked");
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed"));
  EXPECT_LT(report.findings[0].message.size(), 2000U);
  for (const char* kept :
       {"Traceback:x", "... (5000000 bytes in all) ...", "xRuntimeError: locked"})
    EXPECT_THAT(report.findings[0].message, HasSubstr(kept));
}

TEST(Failure, HandlesOnAStackThatWasLeftBehindAreNotOpenGangs) {
  const Report report = run(2, [](SimulatedRank& rank) {
    const auto child = child_of(*rank.root(), {0, 1});
    if (rank.rank() == 1) std::terminate();
  });
  EXPECT_THAT(ids_of(report), ElementsAre("rank_failed"));
}

TEST(Failure, ATimeoutThatEveryRankHandlesIsListedAndNoFinding) {
  const auto program = [](bool handles) {
    return [handles](SimulatedRank& rank) {
      if (rank.rank() == 2) return rank.runtime().sleep_for(3600s);
      try {
        rank.root()->barrier();
      } catch (const GangError&) {
        if (!handles) throw;
      }
    };
  };
  const Report handled = run(3, program(true));
  EXPECT_TRUE(handled.holds()) << to_string(handled);
  ASSERT_EQ(handled.handled.size(), 1U);
  EXPECT_EQ(handled.handled[0].id, finding_id::timed_out);
  EXPECT_THAT(handled.handled[0].ranks, ElementsAre(2));
  EXPECT_THAT(to_string(handled), HasSubstr("Handled    barrier #0 on root[0-2] timed out"));
  const Report fatal = run(3, program(false));
  EXPECT_THAT(ids_of(fatal), ElementsAre("timed_out"));
  EXPECT_THAT(fatal.handled, IsEmpty());
}

}  // namespace
}  // namespace gang::sim
