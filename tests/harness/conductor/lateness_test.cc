// Waits for a process that computes for longer than their timeout.
#include "harness/conductor/lateness.h"

#include "tests/harness/conductor/conducted_world.h"
#include "tests/harness/conductor/int_operations.h"

namespace gang::harness {
namespace {

using namespace conducted;  // NOLINT(google-build-using-namespace)
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::uint32_t impatient = 5;  // a group of all ranks, with a timeout of half a second

void compute() { std::this_thread::sleep_for(1200ms); }

OperationMessage broadcast_from(int root, int rank) {
  return {.group = impatient,
          .kind = OperationKind::broadcast,
          .type = DataType::i32,
          .peer = root,
          .count = 1,
          .call_site = CallSite::in_function("train.py\0load", 3),
          .data = rank == root ? bytes_of(std::vector{1}) : std::vector<std::byte>()};
}

// What is suspected of a run of three ranks that completes.
std::string suspected(const RankProgram& program) {
  ConductedWorld world({.world_size = 3});
  const RunResult result = world.run([&](Client& client) {
    client.tell(
        GroupMessage{.group = impatient, .name = "dp", .ranks = {0, 1, 2}, .timeout = 500ms});
    client.receive();
    program(client);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
  std::string text;
  for (const LongWait& wait : world.conductor().turns().real_time(result.report.outcome).long_waits)
    text += to_string(wait);
  return text;
}

// Of a gang whose members are in another order than in the root gang.
std::vector<int> awaited_by(int self, OperationKind kind, int root = 0) {
  return awaited_ranks({.kind = kind, .peer = root},
                       {.name = "dp", .root_ranks = {4, 9, 2}, .size = 3}, self);
}

TEST(AwaitedRanks, AreAllTheOthersWhereAllGetWhatAllGive) {
  for (const OperationKind kind :
       {OperationKind::all_reduce, OperationKind::all_gather, OperationKind::all_to_all,
        OperationKind::reduce_scatter, OperationKind::barrier, OperationKind::monitored_barrier}) {
    EXPECT_THAT(awaited_by(4, kind), ElementsAre(9, 2));
    EXPECT_THAT(awaited_by(9, kind), ElementsAre(4, 2));
  }
}

TEST(AwaitedRanks, AreTheRootOfWhatOneGives) {
  for (const OperationKind kind :
       {OperationKind::broadcast, OperationKind::broadcast_objects, OperationKind::scatter}) {
    EXPECT_THAT(awaited_by(4, kind, 1), ElementsAre(9));
    EXPECT_THAT(awaited_by(2, kind, 1), ElementsAre(9));
    EXPECT_THAT(awaited_by(9, kind, 1), IsEmpty());
  }
}

TEST(AwaitedRanks, AreAllTheOthersForTheRootOfWhatOneGets) {
  for (const OperationKind kind : {OperationKind::reduce, OperationKind::gather}) {
    EXPECT_THAT(awaited_by(9, kind, 1), ElementsAre(4, 2));
    EXPECT_THAT(awaited_by(4, kind, 1), IsEmpty());
  }
}

TEST(AwaitedRanks, OfAScanAreThoseBefore) {
  for (const OperationKind kind : {OperationKind::scan, OperationKind::exclusive_scan}) {
    EXPECT_THAT(awaited_by(4, kind), IsEmpty());
    EXPECT_THAT(awaited_by(9, kind), ElementsAre(4));
    EXPECT_THAT(awaited_by(2, kind), ElementsAre(4, 9));
  }
}

TEST(AwaitedRanks, OfAMessageAreNotKnown) {
  EXPECT_THAT(awaited_by(4, OperationKind::send), IsEmpty());
  EXPECT_THAT(awaited_by(4, OperationKind::recv), IsEmpty());
}

// Whoever it is: the first to be listened to is rank 0.
TEST(LongWaitsOfRanks, AreNotedWithWhoWasLate) {
  EXPECT_THAT(suspected([](Client& client) {
                if (client.rank() == 0) compute();
                sum(client, 1, impatient);
              }),
              AllOf(HasSubstr("Ranks 1-2 waited"),
                    HasSubstr("in all_reduce at train.py:7 for "
                              "rank 0, which"),
                    Not(HasSubstr("more such"))));
  EXPECT_THAT(suspected([](Client& client) {
                if (client.rank() == 2) compute();
                sum(client, 1, impatient);
              }),
              AllOf(HasSubstr("Ranks 0-1 waited"), HasSubstr("for rank 2, which"),
                    Not(HasSubstr("more such"))));
}

TEST(LongWaitsOfRanks, OfWorksAreNoted) {
  EXPECT_THAT(suspected([](Client& client) {
                if (client.rank() == 0) compute();
                const std::uint64_t first = client.start(int_sum(1, impatient));
                client.wait({client.start(int_sum(1, impatient)), first});
              }),
              HasSubstr("Ranks 1-2 waited"));
}

// They may have been away since.
TEST(LongWaitsOfRanks, AreNotThoseOfCallsThatAllHadMade) {
  EXPECT_THAT(suspected([](Client& client) {
                if (client.rank() != 0) {
                  sum(client, 1, impatient);
                  return;
                }
                const std::uint64_t work = client.start(int_sum(1, impatient));
                compute();
                client.wait(work);
              }),
              IsEmpty());
}

TEST(LongWaitsOfRanks, ArePatientWhereTheTimeoutIs) {
  EXPECT_THAT(suspected([](Client& client) {
                if (client.rank() == 0) compute();
                sum(client, 1);
              }),
              IsEmpty());
}

// A barrier that is monitored has a timeout of its own.
TEST(LongWaitsOfRanks, HaveTheTimeoutOfTheCall) {
  const auto monitored = [](std::uint32_t group, Duration timeout) {
    return suspected([=](Client& client) {
      if (client.rank() == 1) compute();
      client.call({.group = group,
                   .kind = OperationKind::monitored_barrier,
                   .count = timeout.count(),
                   .call_site = CallSite::at("train.py", 1)});
    });
  };
  EXPECT_THAT(monitored(impatient, 30s), IsEmpty());
  EXPECT_THAT(monitored(0, 300ms), HasSubstr("the timeout is 300 ms."));
}

TEST(LongWaitsOfRanks, OfOneOfManyAreNoted) {
  EXPECT_THAT(suspected([](Client& client) {
                if (client.rank() == 0) compute();
                const std::uint64_t work = client.start(int_sum(1, impatient));
                client.wait_any({work});
                client.wait(work);
              }),
              AllOf(HasSubstr("Ranks 1-2 waited"), Not(HasSubstr("more such"))));
}

// In the simulator the root of a broadcast waits for all; on other backends it goes on, and waits
// in its next call.
TEST(LongWaitsOfRanks, BeginWhereARealRunWouldBe) {
  const auto suspected_after = [](int root) {
    return suspected([root](Client& client) {
      if (client.rank() == 1) compute();
      client.call(broadcast_from(root, client.rank()));
      client.call(broadcast_from(root, client.rank()));
      sum(client, 1, impatient);
    });
  };
  EXPECT_THAT(suspected_after(0), AllOf(HasSubstr("Rank 0 waited"), HasSubstr("in all_reduce"),
                                        Not(HasSubstr("more such"))));
  EXPECT_THAT(suspected_after(1), AllOf(HasSubstr("Ranks 0,2 waited"), HasSubstr("in broadcast"),
                                        Not(HasSubstr("more such"))));
}

// Ranks 0 and 1 are held up by rank 2, whom they do not need, and then compute as long as it did:
// in a real run all three come to the sum at once.
TEST(LongWaitsOfRanks, AreNotThoseOfTheSimulatorAlone) {
  EXPECT_THAT(suspected([](Client& client) {
                if (client.rank() == 2) compute();
                client.call({.group = impatient,
                             .kind = OperationKind::reduce,
                             .type = DataType::i32,
                             .peer = 2,
                             .count = 1,
                             .call_site = CallSite::at("train.py", 4),
                             .data = bytes_of(std::vector{1})});
                if (client.rank() != 2) compute();
                sum(client, 1, impatient);
              }),
              IsEmpty());
}

// What a real run waits for, it has waited for once: the next call finds all of them there.
TEST(LongWaitsOfRanks, AreNotCountedTwice) {
  EXPECT_THAT(suspected([](Client& client) {
                if (client.rank() == 0) compute();
                sum(client, 1);
                sum(client, 1, impatient);
              }),
              IsEmpty());
  EXPECT_THAT(suspected([](Client& client) {
                if (client.rank() == 2) compute();
                client.call(broadcast_from(0, client.rank()));
                sum(client, 1);
                sum(client, 1, impatient);
              }),
              IsEmpty());
  EXPECT_THAT(suspected([](Client& client) {
                if (client.rank() == 2) compute();
                const std::uint64_t sent = client.start(broadcast_from(0, client.rank()));
                client.wait({sent, client.start(int_sum(1))});
                sum(client, 1, impatient);
              }),
              IsEmpty());
}

TEST(LongWaitsOfRanks, AreForTheLastOfThoseWhoWereLate) {
  EXPECT_THAT(suspected([](Client& client) {
                if (client.rank() != 1) compute();
                if (client.rank() == 2) std::this_thread::sleep_for(200ms);
                sum(client, 1, impatient);
              }),
              AllOf(HasSubstr("Rank 1 waited"), HasSubstr("for rank 2, which")));
}

// It did not end by coming about.
TEST(LongWaitsOfRanks, AreNotThoseOfACallThatFailed) {
  ConductedWorld world({.world_size = 2});
  const RunResult result = world.run([](Client& client) {
    client.tell(GroupMessage{.group = impatient, .name = "dp", .ranks = {0, 1}, .timeout = 500ms});
    client.receive();
    if (client.rank() == 1) return void(client.call(int_sum(1, impatient)));
    compute();
    client.call(broadcast_from(0, 0));
  });
  EXPECT_FALSE(result.holds());
  EXPECT_THAT(world.conductor().turns().real_time(result.report.outcome).long_waits, IsEmpty());
}

TEST(LongWaitsOfRanks, AreForARootOrAsOne) {
  // Who sends to all waits for nobody.
  EXPECT_THAT(suspected([](Client& client) {
                if (client.rank() == 2) compute();
                client.call(broadcast_from(0, client.rank()));
              }),
              IsEmpty());
  EXPECT_THAT(suspected([](Client& client) {
                if (client.rank() == 0) compute();
                client.call(broadcast_from(0, client.rank()));
              }),
              HasSubstr("Ranks 1-2 waited"));
  // Who sends to one does not wait for a third.
  EXPECT_THAT(suspected([](Client& client) {
                if (client.rank() == 2) compute();
                client.call({.group = impatient,
                             .kind = OperationKind::reduce,
                             .type = DataType::i32,
                             .count = 1,
                             .call_site = CallSite::at("train.py", 4),
                             .data = bytes_of(std::vector{1})});
              }),
              HasSubstr("Rank 0 waited"));
}

}  // namespace
}  // namespace gang::harness
