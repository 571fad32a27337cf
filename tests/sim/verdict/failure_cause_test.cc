#include "sim/verdict/failure_cause.h"

#include "gang/root_gang.h"
#include "sim/further_runs/settled_run.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Backends that are not the simulator's own, and links that tell of a lost peer or do not.
struct Foreign {
  const char* name;
  SimulatedBackend backend;
  PeerLinks links;
};

class FailureCause : public testing::TestWithParam<Foreign> {
 protected:
  SimulationOptions options(int world_size) const {
    return {.world_size = world_size,
            .backend = GetParam().backend,
            .nccl = {.links = GetParam().links}};
  }
  bool tells_of_losses() const {
    return GetParam().backend == SimulatedBackend::gloo || GetParam().links == PeerLinks::sockets;
  }
  Report run(int world_size, const RankProgram& program) const {
    return run_settled(options(world_size), program);
  }
};

TEST_P(FailureCause, ARankThatThrowsIsTheOnlyFinding) {
  const Report report = run(4, [](SimulatedRank& rank) {
    rank.root()->barrier({}, CallSite::at("train.cc", 3));
    if (rank.rank() == 2) throw std::runtime_error("out of cheese");
    rank.root()->barrier({}, CallSite::at("train.cc", 5));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed")) << to_string(report);
  const Finding& finding = report.findings[0];
  EXPECT_THAT(finding.ranks, ElementsAre(2));
  EXPECT_EQ(to_string(finding.location), "train.cc:3");
  EXPECT_THAT(finding.message, HasSubstr("out of cheese"));
  EXPECT_THAT(finding.consequences, ElementsAre(HasSubstr("ranks 0-1,3 ")));
}

TEST_P(FailureCause, ARankThatReturnsEarlyIsTheOnlyFinding) {
  const Report report = run(4, [](SimulatedRank& rank) {
    rank.root()->barrier({}, CallSite::at("train.cc", 3));
    if (rank.rank() == 2) return;
    rank.root()->barrier({}, CallSite::at("train.cc", 5));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("participant_missing")) << to_string(report);
  const Finding& finding = report.findings[0];
  EXPECT_THAT(finding.ranks, ElementsAre(2));
  EXPECT_EQ(to_string(finding.location), "train.cc:5");
  EXPECT_EQ(finding.call.kind, "barrier");
}

TEST_P(FailureCause, SoItIsWhereTheLossIsPassedOnThroughOtherGangs) {
  const auto program = [](bool throws) {
    return [throws](SimulatedRank& rank) {
      const auto pair = rank.root()->split({.color = rank.rank() / 2}, {.name = "pair"});
      const auto stride = rank.root()->split({.color = rank.rank() % 2}, {.name = "stride"});
      if (rank.rank() == 3) {
        if (throws) throw std::runtime_error("out of cheese");
        return;
      }
      pair->barrier({}, CallSite::at("train.cc", 5));
      stride->barrier({}, CallSite::at("train.cc", 6));
    };
  };
  const Report thrown = run(8, program(true));
  ASSERT_THAT(ids_of(thrown), ElementsAre("rank_failed")) << to_string(thrown);
  EXPECT_THAT(thrown.findings[0].ranks, ElementsAre(3));
  const Report returned = run(8, program(false));
  ASSERT_THAT(ids_of(returned), ElementsAre("participant_missing")) << to_string(returned);
  EXPECT_THAT(returned.findings[0].ranks, ElementsAre(3));
}

// Closing gangs takes steps, in which victims may fail before the rank that threw.
TEST_P(FailureCause, NorDoesTheScheduleMatter) {
  SimulationOptions options = this->options(6);
  options.scheduler = SchedulerKind::random;
  for (options.seed = 1; options.seed <= 30; ++options.seed) {
    const bool throws = options.seed % 2 == 0;
    const Report report = run_settled(options, [throws](SimulatedRank& rank) {
      const auto pair = rank.root()->split({.color = rank.rank() / 2}, {.name = "pair"});
      const auto stride = rank.root()->split({.color = rank.rank() % 2}, {.name = "stride"});
      float value = 1.0F;
      Work work = pair->start_all_reduce(view_of(value), ReduceOperation::sum);
      work.wait();
      if (rank.rank() == 3 && throws) throw std::runtime_error("out of cheese");
      if (rank.rank() == 3) return;
      stride->barrier({}, CallSite::at("train.cc", 5));
      pair->barrier({}, CallSite::at("train.cc", 6));
    });
    ASSERT_THAT(ids_of(report), ElementsAre(throws ? "rank_failed" : "participant_missing"))
        << options.seed << to_string(report);
    EXPECT_THAT(report.findings[0].ranks, ElementsAre(3)) << options.seed << to_string(report);
  }
}

TEST_P(FailureCause, AStartedCallTellsToo) {
  const Report report = run(3, [](SimulatedRank& rank) {
    float value = 1.0F;
    if (rank.rank() == 0) throw std::runtime_error("out of cheese");
    Work work = rank.root()->start_all_reduce(view_of(value), ReduceOperation::sum, {},
                                              CallSite::at("train.cc", 5));
    work.wait();
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0));
}

// The exception drops a started call, which fails the gang before the program has failed.
TEST_P(FailureCause, WhoDropsAStartedCallByAnExceptionIsTheCause) {
  const Report report = run(4, [](SimulatedRank& rank) {
    std::vector<float> values(4);
    rank.root()->barrier({}, CallSite::at("train.cc", 3));
    if (rank.rank() == 2) {
      const Work dropped = rank.root()->start_all_reduce(view(values), ReduceOperation::sum, {},
                                                         CallSite::at("train.cc", 5));
      throw std::runtime_error("out of cheese");
    }
    rank.root()->barrier({}, CallSite::at("train.cc", 6));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(2));
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:5");
}

TEST_P(FailureCause, WhoAbortedTheGangIsTheCause) {
  const Report report = run(3, [](SimulatedRank& rank) {
    rank.root()->barrier({}, CallSite::at("train.cc", 3));
    if (rank.rank() == 1) return rank.root()->abort();
    rank.root()->barrier({}, CallSite::at("train.cc", 5));
  });
  if (!tells_of_losses() && report.outcome == Outcome::deadlock) return;  // kernels spin
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:3");
  EXPECT_THAT(report.findings[0].message, HasSubstr("aborted a gang"));
}

TEST_P(FailureCause, AnErrorThatTheProgramHandlesIsNone) {
  if (!tells_of_losses()) return;
  const Report report = run(3, [](SimulatedRank& rank) {
    rank.root()->barrier();
    if (rank.rank() == 2) return;
    EXPECT_THROW(rank.root()->barrier(), GangError);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST_P(FailureCause, ATimeoutIsOneFindingOfWhoDidNotCome) {
  SimulationOptions options = this->options(4);
  options.timeout = 10s;
  options.pending_timeouts = PendingTimeouts::fire;
  const Report report = run_settled(options, [](SimulatedRank& rank) {
    if (rank.rank() == 1) rank.runtime().sleep_for(60s);
    rank.root()->barrier({}, CallSite::at("train.cc", 5));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("timed_out")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(to_string(report.findings[0].location), "train.cc:5");
}

TEST_P(FailureCause, ListsOfAGroupThatDifferAreOneFinding) {
  const Report report = run(4, [](SimulatedRank& rank) {
    rank.root()->create_gang(
        rank.rank() == 3 ? std::vector<int>{0, 1, 3} : std::vector<int>{0, 1, 2}, {},
        CallSite::at("train.cc", 5));
  });
  ASSERT_THAT(report.findings, testing::SizeIs(1)) << to_string(report);
  EXPECT_THAT(report.findings[0].id, testing::StartsWith("mismatch_")) << to_string(report);
  EXPECT_THAT(report.findings[0].ranks, testing::Contains(3));
}

TEST_P(FailureCause, IndependentFailuresAreFindingsOfTheirOwn) {
  const Report report = run(4, [](SimulatedRank& rank) {
    const auto pair = rank.root()->split({.color = rank.rank() / 2}, {.name = "pair"});
    if (rank.rank() == 0) throw std::runtime_error("out of cheese");
    if (rank.rank() == 3) throw std::runtime_error("out of bread");
    pair->barrier({}, CallSite::at("train.cc", 5));
  });
  ASSERT_THAT(ids_of(report), ElementsAre("rank_failed", "rank_failed")) << to_string(report);
  std::vector<int> ranks = report.findings[0].ranks;
  ranks.insert(ranks.end(), report.findings[1].ranks.begin(), report.findings[1].ranks.end());
  EXPECT_THAT(ranks, testing::UnorderedElementsAre(0, 3));
}

std::vector<Foreign> foreign_backends() {
  std::vector<Foreign> all = {{"nccl_sockets", SimulatedBackend::nccl, PeerLinks::sockets},
                              {"nccl_device", SimulatedBackend::nccl, PeerLinks::device}};
  if (gloo_availability().is_available)
    all.push_back({"gloo", SimulatedBackend::gloo, PeerLinks::device});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Backends, FailureCause, testing::ValuesIn(foreign_backends()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace gang::sim
