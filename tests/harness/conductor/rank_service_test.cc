#include "harness/conductor/rank_service.h"

#include "tests/harness/conductor/conducted_world.h"

namespace gang::harness {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Values = std::vector<std::int32_t>;

OperationMessage sum_of(std::int32_t value, std::uint32_t group = 0) {
  return {.group = group,
          .kind = OperationKind::all_reduce,
          .type = DataType::i32,
          .count = 1,
          .call_site = {.file = "train.py", .function = "step", .line = 7},
          .data = bytes_of(Values{value})};
}

std::int32_t sum(Client& client, std::int32_t value, std::uint32_t group = 0) {
  const OperationResult result = client.call(sum_of(value, group));
  EXPECT_EQ(result.status, Status::done) << result.error;
  return result.values<std::int32_t>().at(0);
}

OperationMessage send_to(int peer, std::int32_t value) {
  return {.kind = OperationKind::send,
          .type = DataType::i32,
          .peer = peer,
          .count = 1,
          .data = bytes_of(Values{value})};
}

OperationMessage recv_from(int peer) {
  return {.kind = OperationKind::recv,
          .type = DataType::i32,
          .peer = peer,
          .count = 1,
          .call_site = {.file = "train.py", .function = "step", .line = 9}};
}

// -- Groups --

TEST(RankService, AGroupIsOneForAllWhoNameIt) {
  const RunResult result = conduct(3, [](Client& client) {
    if (client.rank() == 1) return;
    const auto number = static_cast<std::uint32_t>(5 + client.rank());  // each its own
    EXPECT_EQ(client.group(number, "pair", {2, 0}).status, Status::done);
    EXPECT_EQ(sum(client, 1 + client.rank(), number), 4);
    const OperationResult gathered = client.call({.group = number,
                                                  .kind = OperationKind::all_gather,
                                                  .type = DataType::i32,
                                                  .count = 1,
                                                  .data = bytes_of(Values{client.rank()})});
    EXPECT_THAT(gathered.values<std::int32_t>(), ElementsAre(2, 0));  // in its own order
    client.tell(CloseMessage{number});
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankService, GroupsWithOtherNamesAreOtherGangs) {
  const RunResult result = conduct(2, [](Client& client) {
    client.group(1, "a", {0, 1});
    client.group(2, "b", {0, 1});
    const bool is_first = client.rank() == 0;
    const std::uint64_t one = client.start(sum_of(1, is_first ? 1 : 2));
    const std::uint64_t other = client.start(sum_of(10, is_first ? 2 : 1));
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

// -- Errors --

TEST(RankService, AnErrorIsToldAndTheGangStaysUsable) {
  const RunResult result = conduct(2, [](Client& client) {
    const OperationResult beyond = client.call(send_to(2, 1));
    EXPECT_EQ(beyond.status, Status::invalid_argument);
    EXPECT_NE(beyond.error, "");
    EXPECT_THAT(beyond.data, IsEmpty());
    const OperationResult undefined = client.wait(client.start({.kind = OperationKind::all_reduce,
                                                                .type = DataType::boolean,
                                                                .reduce = ReduceOperation::sum,
                                                                .count = 1,
                                                                .data = bytes_of("\1")}));
    EXPECT_EQ(undefined.status, Status::not_supported);
    EXPECT_EQ(client.call(recv_from(-1)).status, Status::invalid_argument);
    EXPECT_EQ(sum(client, 2), 4);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankService, AMismatchIsToldToAllOfItsRanks) {
  std::vector<Status> told(2);
  const RunResult result = conduct(2, [&told](Client& client) {
    OperationMessage message = sum_of(1);
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
      told.push_back(client.call(sum_of(1, 1)).status);
      told.push_back(client.call(sum_of(1, 1)).status);
    } else {
      client.tell(AbortMessage{1});
    }
    EXPECT_EQ(sum(client, 1), 2);
  });
  EXPECT_THAT(told, ElementsAre(Status::aborted, Status::aborted));
}

TEST(RankService, AnOperationOnAClosedGangIsInvalid) {
  conduct(1, [](Client& client) {
    client.tell(CloseMessage{0});
    EXPECT_EQ(client.call(sum_of(1)).status, Status::invalid_operation);
  });
}

// -- Works --

TEST(RankService, AWorkIsCompleteOnceTheOthersHaveCome) {
  const RunResult result = conduct(2, [](Client& client) {
    if (client.rank() == 0) {
      const std::uint64_t work = client.start(sum_of(1));
      EXPECT_FALSE(client.test(work));
      client.call(send_to(1, 0));
      while (!client.test(work)) {
      }
      EXPECT_THAT(client.wait(work).values<std::int32_t>(), ElementsAre(3));
    } else {
      client.call(recv_from(0));
      EXPECT_EQ(sum(client, 2), 3);
    }
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankService, ManyWorksAreAnsweredInTheOrderOfTheWait) {
  const RunResult result = conduct(2, [](Client& client) {
    std::vector<std::uint64_t> works;
    for (const int value : {1, 2, 3}) works.push_back(client.start(sum_of(value)));
    std::vector<std::int32_t> sums;
    for (const OperationResult& done : client.wait({works[2], works[0], works[1]}))
      sums.push_back(done.values<std::int32_t>().at(0));
    EXPECT_THAT(sums, ElementsAre(6, 2, 4));
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankService, OneOfManyWorksIsEnough) {
  const RunResult result = conduct(3, [](Client& client) {
    if (client.rank() == 0) {
      const std::vector<std::uint64_t> works = {client.start(recv_from(1)),
                                                client.start(recv_from(2))};
      EXPECT_EQ(client.wait_any(works), 1U);  // rank 1 sends only once it is told
      EXPECT_THAT(client.wait(works[1]).values<std::int32_t>(), ElementsAre(20));
      client.call(send_to(1, 0));
      EXPECT_EQ(client.wait_any({works[0]}), 0U);
      EXPECT_EQ(client.wait_any({works[0]}), 0U);  // it stays complete
      EXPECT_THAT(client.wait(works[0]).values<std::int32_t>(), ElementsAre(10));
    } else {
      if (client.rank() == 1) client.call(recv_from(0));
      client.call(send_to(0, 10 * client.rank()));
    }
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankService, AnErrorIsOneOfManyEndsToo) {
  const RunResult result = conduct(2, [](Client& client) {
    const std::uint64_t good = client.start(sum_of(1));
    const std::uint64_t wrong = client.start(send_to(7, 0));
    EXPECT_EQ(client.wait_any({good, wrong}), 1U);
    EXPECT_EQ(client.wait(wrong).status, Status::invalid_argument);
    EXPECT_THAT(client.wait(good).values<std::int32_t>(), ElementsAre(2));
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankService, AWaitForAnyThatCannotEndIsADeadlock) {
  const RunResult result = conduct(2, [](Client& client) {
    if (client.rank() == 1) return;
    client.wait_any({client.start(recv_from(1)), client.start(sum_of(1))});
  });
  EXPECT_FALSE(result.holds());
  ASSERT_EQ(result.report.blocked.size(), 1U);
  EXPECT_EQ(result.report.blocked.front().rank, 0);
  EXPECT_TRUE(result.report.blocked.front().waits_for_any);
}

TEST(RankService, ADroppedWorkIsAFinding) {
  const RunResult result = conduct(2, [](Client& client) {
    const std::uint64_t work = client.start(sum_of(1));
    if (client.rank() == 0)
      client.tell(DropMessage{work, {}});
    else
      client.wait(work);
  });
  EXPECT_THAT(ids_of(result), ElementsAre("unwaited_work"));
  EXPECT_THAT(finding_of(result, "unwaited_work").ranks, ElementsAre(0));
  EXPECT_EQ(finding_of(result, "unwaited_work").location, "train.py:7");
}

TEST(RankService, AWorkThatWasCompleteMayBeDropped) {
  const RunResult result = conduct(2, [](Client& client) {
    const std::uint64_t work = client.start(sum_of(1));
    while (!client.test(work)) {
    }
    client.tell(DropMessage{work, {}});
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankService, AWorkThatTheProgramForgotIsAFinding) {
  const RunResult result = conduct(2, [](Client& client) {
    const std::uint64_t work = client.start(sum_of(1));
    if (client.rank() == 0) client.wait(work);
  });
  EXPECT_THAT(ids_of(result), ElementsAre("unwaited_work"));
  EXPECT_THAT(finding_of(result, "unwaited_work").ranks, ElementsAre(1));
}

// -- What the program tells --

TEST(RankService, OutputsAreThoseOfTheRank) {
  const RunResult result = conduct(2, [](Client& client) {
    client.tell(OutputMessage{.name = "loss",
                              .type = DataType::i32,
                              .count = 2,
                              .values = bytes_of(Values{client.rank(), 5})});
  });
  ASSERT_EQ(result.outputs.by_rank.size(), 2U);
  EXPECT_THAT(
      result.outputs.by_rank[1],
      ElementsAre(Output{
          .name = "loss", .type = DataType::i32, .count = 2, .data = bytes_of(Values{1, 5})}));
}

TEST(RankService, AnExceptionIsTheRanksFailure) {
  ConductedWorld world({.world_size = 2});
  const RunResult result = world.run([](Client& client) {
    if (client.rank() == 1)
      client.tell(FailedMessage{.type = "ValueError",
                                .message = "no such batch",
                                .traceback = "Traceback: ...",
                                .call_site = {.file = "dir/train.py", .line = 12}});
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::failed);
  const sim::Finding finding = finding_of(result, "rank_failed");
  EXPECT_THAT(finding.ranks, ElementsAre(1));
  EXPECT_THAT(finding.message, HasSubstr("ValueError: no such batch"));
  EXPECT_EQ(world.conductor().traceback_of(1), "Traceback: ...");
  EXPECT_EQ(world.conductor().traceback_of(0), "");
}

// What the rank was told is the cause, not that it could not go on.
TEST(RankService, AnExceptionThatTellsOfOurErrorIsThatError) {
  const RunResult result = conduct(2, [](Client& client) {
    const OperationResult told = client.call(send_to(7, 1));
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
                                 .call_site = {.file = "train.py", .line = 3}});
  });
  const sim::Finding finding = finding_of(result, "wrong_result");
  EXPECT_EQ(finding.message, "The loss grows.");
  EXPECT_THAT(finding.ranks, ElementsAre(0));
  EXPECT_EQ(finding.location, "train.py:3");
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
      own.set_stack({{{"loader", {{.file = "d/load.py", .function = "next", .line = 4}}}}});
      own.call(recv_from(1));
    });
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  const auto blocked =
      std::ranges::find(result.report.blocked, "loader", &sim::BlockedCall::context);
  ASSERT_NE(blocked, result.report.blocked.end());
  EXPECT_EQ(blocked->rank, 0);
  EXPECT_EQ(blocked->location, "train.py:9");
  EXPECT_THAT(blocked->call_stack, ElementsAre("next at load.py:4"));
}

// A connection's frames are taken in their order, but not those of two connections.
TEST(RankService, AWaitOrTestThatComesBeforeItsStartWaitsForIt) {
  for (const bool tests : {false, true}) {
    const RunResult result = conduct(1, [tests](Client& client) {
      constexpr std::uint64_t id = 1ULL << 42U;
      std::promise<void> waits;
      const std::jthread other = start_thread(client, "other", [&](Client& own) {
        waits.set_value();
        if (tests)
          while (!own.test(id)) {
          }
        EXPECT_THAT(own.wait(id).values<std::int32_t>(), ElementsAre(5));
      });
      waits.get_future().wait();
      std::this_thread::sleep_for(20ms);
      for (int i = 0; i < 5; ++i) client.store({.function = StoreFunction::count});
      OperationMessage message = sum_of(5);
      message.id = id;
      client.tell(message);
    });
    EXPECT_TRUE(result.holds()) << to_string(result);
  }
}

TEST(RankService, AWaitForAnOperationThatNoThreadStartsIsADeadlock) {
  std::jthread other;
  const RunResult result = conduct(1, [&other](Client& client) {
    other = start_thread(client, "other", [](Client& own) { own.wait(1ULL << 42U); });
    client.store({.function = StoreFunction::get, .keys = {"never"}});
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  const auto blocked =
      std::ranges::find(result.report.blocked, "other", &sim::BlockedCall::context);
  ASSERT_NE(blocked, result.report.blocked.end());
  EXPECT_THAT(to_string(blocked->call), HasSubstr("operation 4398046511104"));
}

// Both get the result; neither before it is there.
TEST(RankService, TwoThreadsMayWaitForOneWork) {
  const RunResult result = conduct(2, [](Client& client) {
    if (client.rank() == 1) {
      client.call(recv_from(0));
      EXPECT_EQ(sum(client, 2), 3);
      return;
    }
    const std::uint64_t work = client.start(sum_of(1));
    const auto wait = [work](Client& own) {
      EXPECT_THAT(own.wait(work).values<std::int32_t>(), ElementsAre(3));
    };
    const std::jthread other = start_thread(client, "other", wait);
    const std::jthread sender = start_thread(client, "sender", [](Client& own) {
      OperationMessage message = send_to(1, 0);
      std::this_thread::sleep_for(20ms);
      for (int i = 0; i < 9; ++i) own.store({.function = StoreFunction::count});
      own.call(message);
    });
    wait(client);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(RankService, BlocksBelongToTheirConnection) {
  const RunResult result = conduct(1, [](Client& client) {
    const SharedMemory memory(64);
    client.block(1, memory.descriptor(), memory.size());
    const std::jthread other = start_thread(client, "other", [](Client& own) {
      OperationMessage message = sum_of(1);
      message.data.clear();
      message.block = 1;
      own.call(message);
    });
  });
  EXPECT_THAT(finding_of(result, "rank_failed").message, HasSubstr("broke the protocol"));
}

}  // namespace
}  // namespace gang::harness
