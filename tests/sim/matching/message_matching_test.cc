#include "sim/matching/message_matching.h"

#include "sim/state/world.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

void send_value(Gang& gang, std::int32_t value, int to, int tag = 0) {
  gang.send(view_of(value), to, tag);
}

std::int32_t received_value(Gang& gang, int from = any_rank, int tag = 0) {
  std::int32_t value = -1;
  gang.recv(view_of(value), from, tag);
  return value;
}

// Both send modes, where a program must not depend on them.
void expect_holds_in_every_mode(int world_size, const RankProgram& program) {
  for (const auto mode : {SendMode::rendezvous(), SendMode::buffered(0), SendMode::buffered(4),
                          SendMode::buffered(1 << 20)}) {
    const Report report = run({.world_size = world_size, .sends = mode}, program);
    EXPECT_TRUE(report.holds()) << to_string(mode) << to_string(report);
  }
}

TEST(Messages, OfOneLinkAndTagArriveInOrder) {
  expect_holds_in_every_mode(2, [](SimulatedRank& rank) {
    for (int i = 0; i < 10; ++i) {
      if (rank.rank() == 0)
        send_value(*rank.root(), i, 1);
      else
        EXPECT_EQ(received_value(*rank.root(), 0), i);
    }
  });
}

TEST(Messages, AreToldApartByTheirTags) {
  expect_holds_in_every_mode(2, [](SimulatedRank& rank) {
    if (rank.rank() == 0) {
      std::int32_t first = 1;
      std::int32_t second = 2;
      Work works[] = {rank.root()->start_send(view_of(first), 1, 11),
                      rank.root()->start_send(view_of(second), 1, 22)};
      Work::wait_all(works);
    } else {
      EXPECT_EQ(received_value(*rank.root(), 0, 22), 2);
      EXPECT_EQ(received_value(*rank.root(), 0, 11), 1);
    }
  });
}

TEST(Messages, AnySourceAndAnyTagTellWhoSentAndWhat) {
  expect_holds_in_every_mode(3, [](SimulatedRank& rank) {
    if (rank.rank() != 0) return send_value(*rank.root(), rank.rank(), 0, 10 * rank.rank());
    std::set<int> sources;
    for (int i = 0; i < 2; ++i) {
      std::int32_t value = 0;
      const Received received = rank.root()->recv(view_of(value), any_rank, any_tag);
      EXPECT_EQ(received.source_rank, value);
      EXPECT_EQ(received.tag, 10 * value);
      sources.insert(value);
    }
    EXPECT_THAT(sources, ElementsAre(1, 2));
  });
}

TEST(Messages, AReceiveFromAnySourceTakesTheOldest) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 1) rank.runtime().sleep_for(2ms);
    if (rank.rank() == 2) rank.runtime().sleep_for(1ms);
    if (rank.rank() != 0) return send_value(*rank.root(), rank.rank(), 0);
    rank.runtime().sleep_for(3ms);
    EXPECT_EQ(received_value(*rank.root()), 2);
    EXPECT_EQ(received_value(*rank.root()), 1);
  });
  EXPECT_TRUE(report.holds());
}

TEST(Messages, StartedReceivesAreServedInTheOrderOfTheirCalls) {
  expect_holds_in_every_mode(2, [](SimulatedRank& rank) {
    if (rank.rank() == 1) {
      for (int i = 0; i < 3; ++i) send_value(*rank.root(), i, 0);
      return;
    }
    std::array<std::int32_t, 3> values{};
    std::vector<Work> works;
    for (std::int32_t& value : values) works.push_back(rank.root()->start_recv(view_of(value), 1));
    for (int i = 2; i >= 0; --i) works[static_cast<std::size_t>(i)].wait();
    EXPECT_THAT(values, ElementsAre(0, 1, 2));
    EXPECT_EQ(works[0].received().source_rank, 1);
  });
}

TEST(Messages, ARankMaySendToItself) {
  expect_holds_in_every_mode(1, [](SimulatedRank& rank) {
    std::int32_t value = 7;
    Work send = rank.root()->start_send(view_of(value), 0);
    EXPECT_EQ(received_value(*rank.root(), 0), 7);
    send.wait();
  });
}

TEST(Messages, RanksAreThoseOfTheGang) {
  expect_holds_in_every_mode(4, [](SimulatedRank& rank) {
    const auto child = child_of(*rank.root(), {3, 1});
    if (!child) return;
    if (child->rank() == 0)
      send_value(*child, 33, 1);
    else
      EXPECT_EQ(received_value(*child, 0), 33);
  });
}

// Both ranks send first and receive then.
Report head_to_head(SendMode mode) {
  return run({.world_size = 2, .sends = mode}, [](SimulatedRank& rank) {
    send_value(*rank.root(), rank.rank(), 1 - rank.rank());
    EXPECT_EQ(received_value(*rank.root()), 1 - rank.rank());
  });
}

TEST(SendModes, ARendezvousWaitsForItsReceive) {
  EXPECT_EQ(head_to_head(SendMode::rendezvous()).outcome, Outcome::deadlock);
  EXPECT_EQ(head_to_head(SendMode::buffered(3)).outcome, Outcome::deadlock);
}

TEST(SendModes, ABufferedSendContinuesWhileTheLinkHasRoom) {
  EXPECT_TRUE(head_to_head(SendMode::buffered(4)).holds());
}

TEST(SendModes, AnUnlimitedLinkTakesWhateverIsSent) {
  EXPECT_TRUE(head_to_head(SendMode::unlimited()).holds());
  const auto many = [](SimulatedRank& rank) {
    std::vector<std::uint8_t> block(1 << 20);
    for (int i = 0; i < 8; ++i) rank.root()->send(view(block), 1 - rank.rank());
    for (int i = 0; i < 8; ++i) rank.root()->recv(view(block), 1 - rank.rank());
  };
  EXPECT_TRUE(run({.world_size = 2, .sends = SendMode::unlimited()}, many).holds());
  EXPECT_EQ(run({.world_size = 2, .sends = SendMode::buffered(1 << 22)}, many).outcome,
            Outcome::deadlock);
}

TEST(SendModes, TheRoomIsPerLink) {
  // Two messages of one link need eight bytes; of two links, four each.
  const RankProgram two_of_one_link = [](SimulatedRank& rank) {
    if (rank.rank() != 0) send_value(*rank.root(), 1, 0);
    if (rank.rank() == 1) send_value(*rank.root(), 1, 0);
    rank.root()->barrier();
    if (rank.rank() == 0)
      for (int i = 0; i < 3; ++i) received_value(*rank.root());
  };
  const RankProgram one_of_each = [](SimulatedRank& rank) {
    if (rank.rank() != 0) send_value(*rank.root(), 1, 0);
    rank.root()->barrier();
    if (rank.rank() == 0)
      for (int i = 0; i < 2; ++i) received_value(*rank.root());
  };
  const auto outcome = [](const RankProgram& program, std::uint64_t bytes) {
    return run({.world_size = 3, .sends = SendMode::buffered(bytes)}, program).outcome;
  };
  EXPECT_EQ(outcome(two_of_one_link, 7), Outcome::deadlock);
  EXPECT_EQ(outcome(two_of_one_link, 8), Outcome::completed);
  EXPECT_EQ(outcome(one_of_each, 4), Outcome::completed);
}

TEST(SendModes, ASendThatWaitedGoesIntoTheBufferWhenThereIsRoom) {
  // The second send fits once the first message has been taken, before its own receive.
  const Report report =
      run({.world_size = 2, .sends = SendMode::buffered(4)}, [](SimulatedRank& rank) {
        if (rank.rank() == 0) {
          send_value(*rank.root(), 1, 1);
          send_value(*rank.root(), 2, 1);
          rank.root()->barrier();
        } else {
          EXPECT_EQ(received_value(*rank.root(), 0), 1);
          rank.root()->barrier();
          EXPECT_EQ(received_value(*rank.root(), 0), 2);
        }
      });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SendModes, ASendBehindALargerOneIsBufferedOnceThatIsReceived) {
  const Report report =
      run({.world_size = 2, .sends = SendMode::buffered(4)}, [](SimulatedRank& rank) {
        std::array<std::int32_t, 4> large = {1, 2, 3, 4};
        if (rank.rank() == 0) {
          Work work = rank.root()->start_send(view(large), 1);
          send_value(*rank.root(), 5, 1);
          work.wait();
          rank.root()->barrier();
        } else {
          rank.root()->recv(view(large), 0);
          rank.root()->barrier();
          EXPECT_EQ(received_value(*rank.root(), 0), 5);
        }
      });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SendModes, ASmallMessageDoesNotOvertakeALargeOne) {
  const Report report =
      run({.world_size = 2, .sends = SendMode::buffered(4)}, [](SimulatedRank& rank) {
        if (rank.rank() == 0) {
          std::array<std::int32_t, 2> large = {1, 2};
          std::int32_t small = 3;
          Work works[] = {rank.root()->start_send(view(large), 1),
                          rank.root()->start_send(view_of(small), 1)};
          Work::wait_all(works);
        } else {
          rank.runtime().sleep_for(1ms);
          std::array<std::int32_t, 2> large{};
          rank.root()->recv(view(large), 0, any_tag);
          EXPECT_THAT(large, ElementsAre(1, 2));
          EXPECT_EQ(received_value(*rank.root(), 0, any_tag), 3);
        }
      });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST(SendModes, ABufferedMessageIsWhatItWasWhenSent) {
  const Report report =
      run({.world_size = 2, .sends = SendMode::buffered(64)}, [](SimulatedRank& rank) {
        if (rank.rank() == 0) {
          std::int32_t value = 1;
          rank.root()->send(view_of(value), 1);
          value = 99;
          rank.root()->barrier();
        } else {
          rank.root()->barrier();
          EXPECT_EQ(received_value(*rank.root()), 1);
        }
      });
  EXPECT_TRUE(report.holds());
}

TEST(Batches, ProgressTogether) {
  expect_holds_in_every_mode(3, [](SimulatedRank& rank) {
    // A ring in which every rank sends and receives at once.
    const int next = (rank.rank() + 1) % 3;
    const int previous = (rank.rank() + 2) % 3;
    std::int32_t own = rank.rank();
    std::int32_t got = -1;
    const std::vector<PointToPoint> operations = {
        {.kind = OperationKind::send, .tensor = view_of(own), .peer = next},
        {.kind = OperationKind::recv, .tensor = view_of(got), .peer = previous}};
    rank.root()->batch(operations);
    EXPECT_EQ(got, previous);
    got = -1;
    rank.root()->start_batch(operations).wait();
    EXPECT_EQ(got, previous);
    rank.root()->batch({});
  });
}

TEST(Batches, AreCompleteWhenAllOfThemAre) {
  const Report report = run(3, [](SimulatedRank& rank) {
    if (rank.rank() == 2) rank.runtime().sleep_for(5ms);
    if (rank.rank() != 0) return send_value(*rank.root(), rank.rank(), 0);
    std::array<std::int32_t, 2> got{};
    rank.root()->batch(std::vector<PointToPoint>{
        {.kind = OperationKind::recv, .tensor = view_of(got[0]), .peer = 1},
        {.kind = OperationKind::recv, .tensor = view_of(got[1]), .peer = 2}});
    EXPECT_EQ(rank.runtime().now(), 5ms);
    EXPECT_THAT(got, ElementsAre(1, 2));
  });
  EXPECT_TRUE(report.holds());
}

TEST(Messages, UnreceivedOnesAreAFinding) {
  const Report report =
      run({.world_size = 2, .sends = SendMode::buffered(64)}, [](SimulatedRank& rank) {
        if (rank.rank() == 0) send_value(*rank.root(), 1, 1, 7);
      });
  EXPECT_EQ(report.outcome, Outcome::completed);
  ASSERT_THAT(ids_of(report), ElementsAre("unreceived_message"));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(0, 1))
      << "one sends too much, or one too little";
  EXPECT_THAT(to_string(report.findings[0].call), HasSubstr("to rank 1 tag 7"));
  EXPECT_THAT(to_string(report.findings[0].location), HasSubstr("message_matching_test.cc:"));
}

TEST(Messages, AreMissedOnChildrenToo) {
  const Report report =
      run({.world_size = 2, .sends = SendMode::buffered(64)}, [](SimulatedRank& rank) {
        const auto child = child_of(*rank.root(), {0, 1}, {.name = "pair"});
        if (rank.rank() == 0) send_value(*child, 1, 1);
      });
  ASSERT_THAT(ids_of(report), ElementsAre("unreceived_message"));
  EXPECT_EQ(to_string(report.findings[0].gang), "pair[0,1]");
}

TEST(Messages, LeftBehindByADeadlockAreNotFindingsOfTheirOwn) {
  const Report report =
      run({.world_size = 2, .sends = SendMode::buffered(64)}, [](SimulatedRank& rank) {
        const auto child = child_of(*rank.root(), {0, 1});
        if (rank.rank() == 0) send_value(*child, 1, 1);
        if (rank.rank() == 0) rank.root()->barrier();
      });
  EXPECT_THAT(ids_of(report), ElementsAre("participant_missing"));
}

// The kind of error that both ends meet when rank 0 sends `sent` and rank 1 receives `wanted`.
Report exchange(SendMode mode, const TensorView& sent, const TensorView& wanted) {
  return run({.world_size = 2, .sends = mode}, [&](SimulatedRank& rank) {
    const auto error = gang_error_of([&] {
      if (rank.rank() == 0)
        rank.root()->send(sent, 1);
      else
        rank.root()->recv(wanted, 0);
      rank.root()->barrier();
    });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), GangErrorKind::mismatch);
  });
}

TEST(Messages, OfAnotherCountOrTypeAreAMismatch) {
  std::array<std::int32_t, 2> two{};
  std::array<std::int32_t, 3> three{};
  std::array<float, 2> floats{};
  for (const auto mode : {SendMode::rendezvous(), SendMode::buffered(64)}) {
    const Report counts = exchange(mode, view(two), view(three));
    ASSERT_THAT(ids_of(counts), ElementsAre("mismatch_count"));
    EXPECT_THAT(counts.findings[0].ranks, ElementsAre(0, 1));
    EXPECT_THAT(full_message(counts.findings[0]), HasSubstr("i32[2]"));
    EXPECT_THAT(full_message(counts.findings[0]), HasSubstr("i32[3]"));
    EXPECT_THAT(ids_of(exchange(mode, view(two), view(floats))), ElementsAre("mismatch_data_type"));
  }
}

// Memory in proportion to the links that are used, not to all pairs of ranks.
TEST(MessageMatching, ALinkThatIsNotUsedCostsNoMemory) {
  const SimulationOptions options{.world_size = 200, .sends = SendMode::buffered(64)};
  const Report report = run(options, [](SimulatedRank& rank) {
    std::int32_t value = rank.rank();
    rank.root()->send(view_of(value), (rank.rank() + 1) % 200);
    rank.root()->barrier();
    const auto& mailboxes = rank.world().root->mailboxes;
    EXPECT_EQ(mailboxes[static_cast<std::size_t>(rank.rank())].buffered->links.size(), 1U);
    rank.root()->recv(view_of(value), (rank.rank() + 199) % 200);
    EXPECT_EQ(value, (rank.rank() + 199) % 200);
  });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

// In whatever order they come and are asked for.
TEST(MessageMatching, AGatherByMessagesTakesEachFromItsSource) {
  constexpr int size = 60;
  for (const bool forwards : {true, false})
    for (const SendMode sends : {SendMode::rendezvous(), SendMode::buffered(64)}) {
      const SimulationOptions options{
          .world_size = size, .scheduler = SchedulerKind::random, .sends = sends};
      const Report report = run(options, [forwards](SimulatedRank& rank) {
        std::int32_t value = rank.rank();
        if (rank.rank() != 0) return rank.root()->send(view_of(value), 0);
        for (int i = 1; i < size; ++i) {
          const int source = forwards ? i : size - i;
          EXPECT_EQ(rank.root()->recv(view_of(value), source).source_rank, source);
          EXPECT_EQ(value, source);
        }
      });
      EXPECT_TRUE(report.holds()) << to_string(report);
    }
}

}  // namespace
}  // namespace gang::sim
