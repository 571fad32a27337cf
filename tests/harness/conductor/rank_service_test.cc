#include "harness/conductor/rank_service.h"

#include "tests/harness/conductor/conducted_world.h"
#include "tests/harness/conductor/int_operations.h"

namespace gang::harness {
namespace {

using namespace conducted;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// -- Groups --

TEST(RankService, AGroupIsOneForAllWhoNameIt) {
  const RunResult result = conduct(3, [](Client& client) {
    if (client.rank() == 1) return;
    const auto number = static_cast<std::uint32_t>(5 + client.rank());  // each its own
    EXPECT_EQ(client.group(number, "pair", {2, 0}).status, Status::done);
    EXPECT_EQ(sum(client, 1 + client.rank(), number), 4);
    const OperationResult gathered =
        client.call({.group = number,
                     .kind = OperationKind::all_gather,
                     .type = DataType::i32,
                     .count = 1,
                     .data = bytes_of(std::vector<std::int32_t>{client.rank()})});
    EXPECT_THAT(gathered.values<std::int32_t>(), ElementsAre(2, 0));  // in its own order
    client.tell(CloseMessage{number});
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankService, NoOtherGroupHasTheNumberOfTheGangOfAllRanks) {
  const RunResult result = conduct(1, [](Client& client) { client.group(0, "other", {0}); });
  EXPECT_THAT(ids_of(result), ElementsAre("rank_failed"));
}

TEST(RankService, GroupsWithOtherNamesAreOtherGangs) {
  const RunResult result = conduct(2, [](Client& client) {
    client.group(1, "a", {0, 1});
    client.group(2, "b", {0, 1});
    const bool is_first = client.rank() == 0;
    const std::uint64_t one = client.start(int_sum(1, is_first ? 1 : 2));
    const std::uint64_t other = client.start(int_sum(10, is_first ? 2 : 1));
    for (const OperationResult& done : client.wait({one, other})) {
      EXPECT_EQ(done.status, Status::done);
      EXPECT_THAT(done.values<std::int32_t>(), ElementsAre(11));
    }
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankService, AGroupMustBeOfRanksOfTheWorldAndOfThisOne) {
  const RunResult result = conduct(2, [](Client& client) {
    const int rank = client.rank();
    EXPECT_EQ(client.group(1, "other", {1 - rank}).status, Status::invalid_argument);
    EXPECT_EQ(client.group(2, "beyond", {rank, 2}).status, Status::invalid_argument);
    EXPECT_EQ(client.group(3, "below", {rank, -1}).status, Status::invalid_argument);
    EXPECT_EQ(client.group(4, "twice", {rank, rank}).status, Status::invalid_argument);
    EXPECT_EQ(client.group(5, "none", {}).status, Status::invalid_argument);
    EXPECT_EQ(client.group(6, "alone", {rank}).status, Status::done);
    EXPECT_EQ(sum(client, 3, 6), 3);
    EXPECT_EQ(sum(client, 3), 6);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankService, AGroupMayBeClosedAndMadeAgain) {
  const RunResult result = conduct(2, [](Client& client) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(client.group(1, "again", {0, 1}).status, Status::done);
      EXPECT_EQ(sum(client, i, 1), 2 * i);
      client.tell(CloseMessage{1});
    }
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankService, TheRoleOfAGroupIsItsName) {
  const RunResult result = conduct(2, [](Client& client) {
    client.tell(GroupMessage{.group = 5, .name = "pair#3", .role = "tp", .ranks = {0, 1}});
    client.receive();
    if (client.rank() == 0) client.call(int_sum(1, 5));
  });
  ASSERT_EQ(result.report.blocked.size(), 1U);
  EXPECT_EQ(to_string(result.report.blocked[0].gang), "tp[0,1]");
}

TEST(RankService, AGroupMayHaveATimeoutOfItsOwn) {
  std::optional<Status> told;
  conduct(2, [&told](Client& client) {
    client.tell(GroupMessage{.group = 5, .name = "timed", .ranks = {0, 1}, .timeout = 1s});
    client.receive();
    if (client.rank() == 0) told = client.call(int_sum(1, 5)).status;
    if (client.rank() == 1)
      client.store({.function = StoreFunction::wait, .keys = {"never"}, .timeout = 3s});
  });
  EXPECT_EQ(told, Status::timeout);
}

TEST(RankService, TheTimeoutOfTheGangOfAllRanksIsThatOfEachProcess) {
  std::optional<Status> told;
  conduct(2, [&told](Client& client) {
    if (client.rank() == 0) {
      client.tell(GroupMessage{.group = 0, .timeout = 1s});
      client.receive();
    }
    if (client.rank() == 0) told = client.call(int_sum(1)).status;
    if (client.rank() == 1)
      client.store({.function = StoreFunction::wait, .keys = {"never"}, .timeout = 3s});
  });
  EXPECT_EQ(told, Status::timeout);
}

TEST(RankService, TheGangOfAllRanksHasItsName) {
  for (const GroupMessage& message :
       {GroupMessage{.group = 0, .name = "world"}, GroupMessage{.group = 0, .ranks = {0}}}) {
    const RunResult result = conduct(1, [&message](Client& client) {
      client.tell(message);
      client.receive();
    });
    EXPECT_THAT(ids_of(result), ElementsAre("rank_failed"));
  }
}

// -- Errors --

TEST(RankService, AnErrorIsToldAndTheGangStaysUsable) {
  const RunResult result = conduct(2, [](Client& client) {
    const OperationResult beyond = client.call(int_send(2, 1));
    EXPECT_EQ(beyond.status, Status::invalid_argument);
    EXPECT_NE(beyond.error, "");
    EXPECT_THAT(beyond.data, IsEmpty());
    const OperationResult undefined = client.wait(client.start({.kind = OperationKind::all_reduce,
                                                                .type = DataType::boolean,
                                                                .reduce = ReduceOperation::sum,
                                                                .count = 1,
                                                                .data = bytes_of("\1")}));
    EXPECT_EQ(undefined.status, Status::not_supported);
    EXPECT_EQ(client.call(int_recv(-1)).status, Status::invalid_argument);
    EXPECT_EQ(sum(client, 2), 4);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankService, AMismatchIsToldToAllOfItsRanks) {
  std::vector<Status> told(2);
  const RunResult result = conduct(2, [&told](Client& client) {
    OperationMessage message = int_sum(1);
    if (client.rank() == 1) message.reduce = ReduceOperation::max;
    told[static_cast<std::size_t>(client.rank())] = client.call(message).status;
  });
  EXPECT_THAT(told, ElementsAre(Status::mismatch, Status::mismatch));
  EXPECT_THAT(ids_of(result), ElementsAre("mismatch_reduce_operation"));
}

TEST(RankService, AnAbortEndsWhatIsPending) {
  std::vector<Status> told;
  const RunResult result = conduct(2, [&told](Client& client) {
    client.group(1, "aborted", {0, 1});
    if (client.rank() == 0) {
      told.push_back(client.call(int_sum(1, 1)).status);
      told.push_back(client.call(int_sum(1, 1)).status);
    } else {
      client.tell(AbortMessage{1});
    }
    EXPECT_EQ(sum(client, 1), 2);
  });
  EXPECT_THAT(told, ElementsAre(Status::aborted, Status::aborted));
}

TEST(RankService, AnOperationOnAClosedGangIsInvalid) {
  std::optional<Status> told;
  conduct(1, [&told](Client& client) {
    client.tell(CloseMessage{0});
    told = client.call(int_sum(1)).status;
  });
  EXPECT_EQ(told, Status::invalid_operation);
}

// -- What the program tells --

TEST(RankService, OutputsAreThoseOfTheRank) {
  const RunResult result = conduct(2, [](Client& client) {
    client.tell(OutputMessage{.name = "loss",
                              .type = DataType::i32,
                              .count = 2,
                              .values = bytes_of(std::vector<std::int32_t>{client.rank(), 5})});
  });
  ASSERT_EQ(result.outputs.by_rank.size(), 2U);
  EXPECT_THAT(result.outputs.by_rank[1],
              ElementsAre(Output{.name = "loss",
                                 .type = DataType::i32,
                                 .count = 2,
                                 .data = bytes_of(std::vector<std::int32_t>{1, 5})}));
}

TEST(RankService, AnExceptionIsTheRanksFailure) {
  ConductedWorld world({.world_size = 2});
  const RunResult result = world.run([](Client& client) {
    if (client.rank() == 1)
      client.tell(FailedMessage{.type = "ValueError",
                                .message = "no such batch",
                                .traceback = "Traceback: ...",
                                .call_site = CallSite::at("dir/train.py", 12)});
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::failed);
  const sim::Finding finding = finding_of(result, "rank_failed");
  EXPECT_THAT(finding.ranks, ElementsAre(1));
  EXPECT_THAT(finding.message, HasSubstr("ValueError: no such batch"));
  EXPECT_EQ(to_string(finding.location), "train.py:12");
  EXPECT_EQ(result.notes.at(1), "Traceback: ...");
  EXPECT_EQ(world.conductor().traceback_of(1), "Traceback: ...");
  EXPECT_EQ(world.conductor().traceback_of(0), "");
}

TEST(RankService, AnExitInGoodOrderIsShownAndFailsNothing) {
  const RunResult result = conduct(2, [](Client& client) {
    if (client.rank() == 1)
      return client.tell(
          FailedMessage{.type = "SystemExit", .call_site = CallSite::at("train.py", 12)});
    client.call(int_recv(1));
  });
  const sim::Finding finding = finding_of(result, "participant_missing");
  EXPECT_THAT(finding.ranks, ElementsAre(1));
  EXPECT_THAT(finding.message, HasSubstr("ended with sys.exit at train.py:12"));
  EXPECT_TRUE(result.notes.empty());
  EXPECT_EQ(conduct(1, [](Client& client) { client.tell(FailedMessage{.type = "SystemExit"}); })
                .report.outcome,
            sim::Outcome::completed);
}

// What the rank was told is the cause, not that it could not go on.
TEST(RankService, AnExceptionThatTellsOfOurErrorIsThatError) {
  const RunResult result = conduct(2, [](Client& client) {
    const OperationResult told = client.call(int_send(7, 1));
    client.tell(FailedMessage{.type = "InvalidArgument", .message = told.error});
  });
  const sim::Finding finding = finding_of(result, "rank_failed");
  EXPECT_THAT(finding.message, testing::Not(HasSubstr("InvalidArgument: ")));
}

TEST(RankService, AFindingOfTheProgramIsOneOfTheRun) {
  const RunResult result = conduct(2, [](Client& client) {
    if (client.rank() == 0)
      client.tell(FindingMessage{.id = "wrong_result",
                                 .message = "The loss grows.",
                                 .ranks = {0},
                                 .call_site = CallSite::at("train.py", 3)});
  });
  const sim::Finding finding = finding_of(result, "wrong_result");
  EXPECT_EQ(finding.message, "The loss grows.");
  EXPECT_THAT(finding.ranks, ElementsAre(0));
  EXPECT_EQ(to_string(finding.location), "train.py:3");
}

// Whether all have made a group or not, what they say of it comes before what follows from it.
TEST(RankService, GroupsThatRanksMakeDifferentlyAreAFindingOfTheRun) {
  for (const bool has_last_come : {false, true}) {
    const RunResult result = conduct(3, [has_last_come](Client& client) {
      const bool is_odd = client.rank() == 0;
      if (client.rank() < 2 || has_last_come)
        client.tell(NewGroupMessage{1, "1", {is_odd ? 1 : 0}, CallSite::at("train.py", 4)});
      client.call(is_odd ? int_recv(2) : OperationMessage{.kind = OperationKind::barrier});
    });
    ASSERT_GE(result.report.findings.size(), 2U);
    const sim::Finding& finding = result.report.findings.front();
    EXPECT_EQ(finding.id, "group_creation_order");
    EXPECT_THAT(finding.ranks, has_last_come ? testing::Matcher<std::vector<int>>(ElementsAre(0))
                                             : ElementsAre(0, 1));
    EXPECT_EQ(finding.certainty.has_value(), !has_last_come) << "told once the run has ended";
  }
}

// -- Threads --

TEST(RankService, EachThreadOfARankHasItsPlace) {
  const RunResult result = conduct(2, [](Client& client) {
    client.group(1, "loaders", {0, 1});
    const std::jthread loader = start_thread(client, "loader", [](Client& own) {
      for (int i = 0; i < 5; ++i) EXPECT_EQ(sum(own, i, 1), 2 * i);
    });
    for (int i = 0; i < 5; ++i) EXPECT_EQ(sum(client, 10 + i), 20 + 2 * i);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankService, ABlockedThreadIsNamed) {
  std::jthread loader;
  const RunResult result = conduct(2, [&loader](Client& client) {
    if (client.rank() == 1) return;
    loader = start_thread(client, "loader", [](Client& own) {
      own.set_stack({{{0, "loader", {CallSite::in_function("d/load.py\0next", 4)}}}});
      own.call(int_recv(1));
    });
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  const auto blocked =
      std::ranges::find(result.report.blocked, "loader", &sim::BlockedCall::context);
  ASSERT_NE(blocked, result.report.blocked.end());
  EXPECT_EQ(blocked->rank, 0);
  EXPECT_EQ(to_string(blocked->location), "train.py:9");
  EXPECT_THAT(blocked->call_stack, ElementsAre(SourceLocation{"d/load.py", 4, "next"}));
}

TEST(RankService, BlocksBelongToTheirConnection) {
  const RunResult result = conduct(1, [](Client& client) {
    const SharedMemory memory(64);
    client.block(1, memory.descriptor(), memory.size());
    const std::jthread other = start_thread(client, "other", [](Client& own) {
      OperationMessage message = int_sum(1);
      message.data.clear();
      message.block = 1;
      own.call(message);
    });
  });
  EXPECT_THAT(finding_of(result, "rank_failed").message, HasSubstr("broke the protocol"));
}

// Its process never came: none can come any more.
TEST(RankService, ARankWhoseProcessNeverJoinedHasFailed) {
  class GoneLauncher final : public RankLauncher {
   public:
    bool launches() const noexcept override { return false; }
    void launch(int, const ProcessEnvironment&, RankOutput::Pipes) override {}
    std::string why_none_can_come() const override { return "it is gone"; }
  };
  std::ostringstream out;
  Conductor conductor({.socket = gang::test::temporary_directory() + "gone_rank", .world_size = 1},
                      RankSelection("none"), out, out);
  conductor.set_launcher(std::make_unique<GoneLauncher>());
  const RunResult result = run(conductor.program("test"), {.program = "test"}, {.settles = false});
  EXPECT_THAT(finding_of(result, "rank_failed").message, HasSubstr("it is gone"));
}

TEST(RankService, AFailureIsToldAsItWasUnlessItTellsOfOurs) {
  const RunResult result = conduct(1, [](Client& client) {
    client.call(int_send(7, 1));
    client.tell(FailedMessage{.type = "ValueError", .message = "no such batch"});
    client.tell(FailedMessage{.type = "KeyError", .message = "in a handler"});
  });
  const sim::Finding finding = finding_of(result, "rank_failed");
  EXPECT_THAT(finding.message, HasSubstr("ValueError: no such batch"));
}

TEST(RankService, AThreadOfAFailedRankWaitsNoLonger) {
  std::optional<Status> told;
  std::jthread other;
  const RunResult result = conduct(2, [&](Client& client) {
    if (client.rank() == 1)
      return void(client.store({.function = StoreFunction::get, .keys = {"never"}}));
    other = start_thread(client, "other",
                         [&told](Client& own) { told = own.call(int_recv(1)).status; });
    client.tell(FailedMessage{.type = "ValueError", .message = "no such batch"});
  });
  other.join();
  EXPECT_EQ(told, Status::aborted);
  EXPECT_THAT(finding_of(result, "rank_failed").ranks, ElementsAre(0));
}

TEST(RankService, AByeOfAThreadIsNotThatOfItsProcess) {
  const RunResult result = conduct(1, [](Client& client) {
    start_thread(client, "other", [](Client& own) { sum(own, 1); }).join();
    throw std::runtime_error("no bye");
  });
  EXPECT_THAT(ids_of(result), ElementsAre("rank_failed"));
}

}  // namespace
}  // namespace gang::harness
