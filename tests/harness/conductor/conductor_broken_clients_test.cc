// Clients that are broken.
#include <array>

#include "tests/harness/conductor/conducted_world.h"
#include "tests/harness/conductor/frame_fuzzer.h"
#include "tests/harness/conductor/int_operations.h"

namespace gang::harness {
namespace {

using namespace conducted;  // NOLINT(google-build-using-namespace)
using testing::ElementsAre;

using Values = std::vector<std::int32_t>;

// A frame of `size` bytes, as its head says, of which `bytes` come.
std::vector<std::byte> head_of(std::uint32_t size, std::string_view bytes) {
  std::vector<std::byte> frame(sizeof size);
  std::memcpy(frame.data(), &size, sizeof size);
  const std::vector<std::byte> rest = bytes_of(bytes);
  frame.insert(frame.end(), rest.begin(), rest.end());
  return frame;
}

struct Break {
  const char* name;
  RankProgram program;
};

class BrokenClient : public testing::TestWithParam<Break> {};

// The others go on: they wait for nothing of it.
TEST_P(BrokenClient, FailsItsOwnRankOnly) {
  std::vector<std::int32_t> sums;
  const RunResult result = conduct(3, [&sums](Client& client) {
    client.group(1, "others", {0, 2});
    if (client.rank() == 1) {
      GetParam().program(client);
      throw Disconnected("without a bye");
    }
    OperationMessage message = int_sum(1);
    message.group = 1;
    for (int i = 0; i < 3; ++i) {
      const OperationResult sum = client.call(message);
      if (client.rank() == 0) sums.push_back(sum.values<std::int32_t>().at(0));
    }
  });
  EXPECT_EQ(result.report.outcome, sim::Outcome::failed) << to_string(result);
  EXPECT_THAT(ids_of(result), ElementsAre("rank_failed"));
  EXPECT_THAT(finding_of(result, "rank_failed").ranks, ElementsAre(1));
  EXPECT_THAT(sums, ElementsAre(2, 2, 2));
}

// Sends `message`, which no client may, and waits until the connection is closed.
template <typename Message>
RankProgram telling(const Message& message) {
  return [message](Client& client) {
    client.tell(message);
    client.receive();
  };
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenClient,
    testing::Values(
        Break{"garbage",
              [](Client& client) {
                client.send(bytes_of("GET / HTTP/1.1\r\n\r\n and so on and on and on"));
                client.receive();
              }},
        Break{"unknown_kind", [](Client& client) { client.send(head_of(2, "\x63!")); }},
        Break{"truncated_fields", [](Client& client) { client.send(head_of(3, "\5\1\1")); }},
        Break{"huge_size", [](Client& client) { client.send(head_of(0xffffffffU, "x")); }},
        Break{"no_size", [](Client& client) { client.send(head_of(0, "x")); }},
        Break{"truncated_frame", [](Client& client) { client.send(head_of(100, "\4abc")); }},
        Break{"disappears", [](Client&) {}},
        Break{"disappears_in_a_call",
              [](Client& client) { client.send(frame_of(BlockMessage{1, 64})); }},
        Break{"second_hello", telling(Client::caller(1, 3))},
        Break{"group_zero", telling(GroupMessage{.name = "root", .ranks = {1}})},
        Break{"no_such_group", telling(CloseMessage{9})},
        Break{"no_such_work", telling(WaitMessage{.ids = {99}})},
        Break{"no_such_alternative", telling(WaitMessage{.ids = {99}, .is_for_any = true})},
        Break{"same_alternative", telling(WaitMessage{.ids = {1, 1}, .is_for_any = true})},
        Break{"no_such_test", telling(TestMessage{99})},
        Break{"no_such_drop", telling(DropMessage{99, {}})},
        Break{"block_without_memory", telling(BlockMessage{1, 64})},
        Break{"no_such_block", telling(OperationMessage{.block = 4, .first = {}})},
        Break{"small_block",
              [](Client& client) {
                const SharedMemory memory(64);
                client.send(frame_of(BlockMessage{1, 65}), memory.descriptor());
                client.receive();
              }},
        Break{"used_id",
              [](Client& client) {
                OperationMessage message = int_sum(1);
                message.id = 1ULL << 40U;
                client.send(frame_of(message));
                client.send(frame_of(message));
                client.receive();
              }},
        Break{"gang_of_number_zero", telling(OperationMessage{.id = 1ULL << 41U,
                                                              .is_blocking = true,
                                                              .kind = OperationKind::split,
                                                              .first = {0, 0}})},
        Break{"split_of_three", telling(OperationMessage{.id = 1ULL << 41U,
                                                         .is_blocking = true,
                                                         .kind = OperationKind::split,
                                                         .result = 5,
                                                         .first = {0, 0, 0}})},
        Break{"too_little_data",
              telling(OperationMessage{.kind = OperationKind::all_reduce, .count = 9})}),
    [](const auto& tested) { return tested.param.name; });

// Its rank may fail, and what it does to the gangs that it is in may, but nothing else happens.
TEST(Conductor, LivesWhateverAClientSends) {
  const TurnOptions impatient{.patience = 20ms, .stall_limit = 50ms, .silent_threads_limit = 50ms};
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::array<std::int32_t, 3> values{};  // by rank
    const RunResult result = conduct({.world_size = 3, .turns = impatient}, [&](Client& client) {
      std::int32_t& value = values.at(static_cast<std::size_t>(client.rank()));
      client.group(1, "others", {0, 2});
      if (client.rank() == 1) {
        FrameFuzzer fuzzer(seed);
        const SharedMemory memory(64);
        for (int i = 0; i < 12; ++i)
          client.send(framed(fuzzer.mutated()), fuzzer.below(4) == 0 ? memory.descriptor() : -1);
        client.end_sending();
        // Until it is closed, or told that the run is over.
        while (!std::holds_alternative<OverMessage>(client.receive())) continue;
      }
      OperationMessage message = int_sum(1);
      message.group = 1;
      for (int i = 0; i < 3; ++i) value = client.call(message).values<std::int32_t>().at(0);
    });
    EXPECT_EQ(values, (std::array<std::int32_t, 3>{2, 0, 2})) << seed;
    EXPECT_NE(result.report.outcome, sim::Outcome::step_limit);
  }
}

TEST(Conductor, WhoWaitsAfterItsGoodbyeLearnsThatTheRunIsOver) {
  bool has_learned = false;
  const RunResult result = conduct(2, [&](Client& client) {
    client.call(int_sum(1));
    if (client.rank() == 0) return;
    client.bye();
    try {
      client.receive();
    } catch (const Error&) {
      has_learned = true;
    }
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_TRUE(has_learned);
}

// Stopped, a process takes no answers; the others do not wait for that.
TEST(Conductor, AProcessThatReadsNothingHoldsUpNobody) {
  const RunResult result = conduct(2, [](Client& client) {
    client.group(1, "alone", {client.rank()});
    OperationMessage own = int_sum(0);
    own.group = 1;
    if (client.rank() == 1) {
      for (int i = 0; i < 100; ++i) client.call(own);
      client.store({.function = StoreFunction::set, .keys = {"done"}, .values = {{}}});
      return;
    }
    constexpr int calls = 40;
    const Values large(20'000, 7);
    own.is_blocking = true;
    own.count = static_cast<std::int64_t>(large.size());
    own.data = bytes_of(large);
    for (int i = 0; i < calls; ++i) {
      own.id = (1ULL << 43U) + static_cast<std::uint64_t>(i);
      client.tell(own);
    }
    client.tell(StoreMessage{.function = StoreFunction::get, .keys = {"done"}});
    std::this_thread::sleep_for(50ms);
    for (int i = 0; i < calls; ++i) {
      const auto done = std::get<DoneMessage>(client.receive());
      EXPECT_EQ(done.results.at(0).values<std::int32_t>(), large);
    }
    EXPECT_EQ(std::get<StoredMessage>(client.receive()).status, Status::done);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
}

// One thread of the rank waits in a call, another one breaks the protocol.
TEST(Conductor, AThreadThatBreaksTheProtocolEndsTheOthersCalls) {
  std::optional<Status> told;
  const RunResult result = conduct(2, [&told](Client& client) {
    if (client.rank() == 1)
      return void(client.store({.function = StoreFunction::get, .keys = {"never"}}));
    const std::jthread other = start_thread(client, "other", [](Client& own) {
      std::this_thread::sleep_for(20ms);
      own.send(head_of(1, "\x63"));
    });
    told = client.call(int_sum(1)).status;
  });
  EXPECT_EQ(told, Status::aborted);
}

}  // namespace
}  // namespace gang::harness
