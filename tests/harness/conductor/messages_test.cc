#include "harness/conductor/messages.h"

#include <limits>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/conductor/bytes.h"
#include "tests/harness/conductor/frame_fuzzer.h"

namespace gang::harness {
namespace {

using conducted::bytes_of;
using conducted::without_size;
using testing::ElementsAre;

constexpr CallSite site = CallSite::in_function("dir/train.py\0step", 41);

class ClientMessages : public testing::Test {
 protected:
  template <typename Message>
  Message parsed(const Message& message) {
    return std::get<Message>(parse_message(without_size(frame_of(message)), texts_));
  }
  ClientMessage parsed_frame(const Frame& frame) { return parse_message(frame, texts_); }

  KeptTexts texts_;
};

TEST_F(ClientMessages, Hello) {
  const auto message = parsed(HelloMessage{.version = 3,
                                           .rank = -1,
                                           .world_size = 8,
                                           .process = 70,
                                           .thread = 71,
                                           .is_watcher = true,
                                           .thread_name = "loader"});
  EXPECT_EQ(message.version, 3U);
  EXPECT_EQ(message.rank, -1);
  EXPECT_EQ(message.world_size, 8);
  EXPECT_EQ(message.process, 70U);
  EXPECT_EQ(message.thread, 71U);
  EXPECT_TRUE(message.is_watcher);
  EXPECT_EQ(message.thread_name, "loader");
}

TEST_F(ClientMessages, Group) {
  const auto message =
      parsed(GroupMessage{.group = 2, .name = "dp", .ranks = {3, 1}, .call_site = site});
  EXPECT_EQ(message.group, 2U);
  EXPECT_EQ(message.name, "dp");
  EXPECT_THAT(message.ranks, ElementsAre(3, 1));
  EXPECT_FALSE(message.timeout);
  EXPECT_EQ(message.call_site, site);
  EXPECT_EQ(parsed(GroupMessage{.timeout = Duration(5)}).timeout, Duration(5));
}

TEST_F(ClientMessages, Operations) {
  const OperationMessage sent{.id = 1ULL << 40U,
                              .is_blocking = true,
                              .group = 4,
                              .kind = OperationKind::recv,
                              .type = DataType::bf16,
                              .reduce = ReduceOperation::bitwise_xor,
                              .from_any = true,
                              .any_tag = false,
                              .all_missing = true,
                              .peer = -2,
                              .tag = 9,
                              .count = 12,
                              .result = 5,
                              .block = 6,
                              .first = {1, -1},
                              .second = {7},
                              .label = "gradients",
                              .call_site = site,
                              .data = bytes_of("abc"),
                              .threads = {3}};
  const OperationMessage message = parsed(sent);
  EXPECT_EQ(message.id, sent.id);
  EXPECT_TRUE(message.is_blocking);
  EXPECT_EQ(message.group, 4U);
  EXPECT_EQ(message.kind, sent.kind);
  EXPECT_EQ(message.type, sent.type);
  EXPECT_EQ(message.reduce, sent.reduce);
  EXPECT_TRUE(message.from_any);
  EXPECT_FALSE(message.any_tag);
  EXPECT_TRUE(message.all_missing);
  EXPECT_EQ(message.peer, -2);
  EXPECT_EQ(message.tag, 9);
  EXPECT_EQ(message.count, 12);
  EXPECT_EQ(message.result, 5U);
  EXPECT_EQ(message.block, 6U);
  EXPECT_THAT(message.first, ElementsAre(1, -1));
  EXPECT_THAT(message.second, ElementsAre(7));
  EXPECT_EQ(message.label, "gradients");
  EXPECT_EQ(message.call_site, site);
  EXPECT_EQ(message.data, sent.data);
  EXPECT_THAT(message.threads, ElementsAre(3));
  EXPECT_FALSE(parsed(OperationMessage{}).is_blocking);
}

TEST_F(ClientMessages, EveryKindTypeAndReductionHasItsNumber) {
  for (const OperationKind kind :
       {OperationKind::all_reduce, OperationKind::reduce, OperationKind::reduce_scatter,
        OperationKind::all_gather, OperationKind::gather, OperationKind::scatter,
        OperationKind::all_to_all, OperationKind::broadcast, OperationKind::barrier,
        OperationKind::monitored_barrier, OperationKind::create_gang, OperationKind::split,
        OperationKind::send, OperationKind::recv, OperationKind::shrink, OperationKind::scan,
        OperationKind::exclusive_scan})
    EXPECT_EQ(parsed(OperationMessage{.kind = kind}).kind, kind);
  for (const DataType type : all_data_types)
    EXPECT_EQ(parsed(OperationMessage{.type = type}).type, type);
  for (const ReduceOperation reduce : all_reduce_operations)
    EXPECT_EQ(parsed(OperationMessage{.reduce = reduce}).reduce, reduce);
}

TEST_F(ClientMessages, WaitsTestsAndDrops) {
  const auto wait = parsed(WaitMessage{{4, 2}, false, 5ms, {1}, site});
  EXPECT_THAT(wait.ids, ElementsAre(4, 2));
  EXPECT_THAT(wait.threads, ElementsAre(1));
  EXPECT_EQ(wait.call_site, site);
  EXPECT_TRUE(!wait.is_for_any && wait.timeout == 5ms);
  const auto any = parsed(WaitMessage{.ids = {4, 2}, .is_for_any = true, .call_site = site});
  EXPECT_THAT(any.ids, ElementsAre(4, 2));
  EXPECT_TRUE(any.is_for_any);
  EXPECT_EQ(parsed(TestMessage{.id = 9}).id, 9U);
  EXPECT_EQ(parsed(DropMessage{8, site}).id, 8U);
  EXPECT_EQ(parsed(DropMessage{8, site}).call_site, site);
}

TEST_F(ClientMessages, GroupsEndAndBlocksBegin) {
  EXPECT_EQ(parsed(CloseMessage{2}).group, 2U);
  EXPECT_EQ(parsed(AbortMessage{3}).group, 3U);
  EXPECT_EQ(parsed(BlockMessage{4, 1ULL << 40U}).size, 1ULL << 40U);
}

TEST_F(ClientMessages, TheStore) {
  const auto message = parsed(StoreMessage{.function = StoreFunction::compare_set,
                                           .number = -7,
                                           .keys = {std::string("a\0b", 3)},
                                           .values = {bytes_of("old"), bytes_of("")},
                                           .timeout = Duration(9),
                                           .threads = {2, 7},
                                           .call_site = site});
  EXPECT_EQ(message.timeout, Duration(9));
  EXPECT_EQ(message.function, StoreFunction::compare_set);
  EXPECT_EQ(message.number, -7);
  EXPECT_THAT(message.keys, ElementsAre(std::string("a\0b", 3)));
  EXPECT_THAT(message.values, ElementsAre(bytes_of("old"), bytes_of("")));
  EXPECT_THAT(message.threads, ElementsAre(2, 7));
  EXPECT_EQ(message.call_site, site);
}

TEST_F(ClientMessages, AFunctionOfTheStoreTakesItsKeysAndValues) {
  const auto is_good = [this](StoreFunction function, std::size_t keys, std::size_t values) {
    try {
      parsed(StoreMessage{.function = function,
                          .keys = std::vector<std::string>(keys, "k"),
                          .values = std::vector<std::vector<std::byte>>(values)});
      return true;
    } catch (const ProtocolError&) {
      return false;
    }
  };
  using enum StoreFunction;
  for (const StoreFunction function : {set, append}) EXPECT_TRUE(is_good(function, 1, 1));
  for (const StoreFunction function : {get, add, erase}) EXPECT_TRUE(is_good(function, 1, 0));
  for (const StoreFunction function : {wait, check}) EXPECT_TRUE(is_good(function, 3, 0));
  EXPECT_TRUE(is_good(count, 0, 0));
  EXPECT_TRUE(is_good(compare_set, 1, 2));
  for (const StoreFunction function : {set, get, add, erase, compare_set, append})
    for (const std::size_t keys : {0U, 2U})
      for (const std::size_t values : {0U, 1U, 2U})
        EXPECT_FALSE(is_good(function, keys, values)) << static_cast<int>(function);
  for (const StoreFunction function : {get, add, wait, check, erase, count, compare_set})
    EXPECT_FALSE(is_good(function, 1, 1)) << static_cast<int>(function);
  EXPECT_THAT(
      [this] { parsed(StoreMessage{.function = set, .keys = {"k"}}); },
      testing::ThrowsMessage<ProtocolError>("a request to the store has 1 keys and 0 values"));
}

TEST_F(ClientMessages, WhatTheProgramTells) {
  const auto output = parsed(OutputMessage{
      .name = "loss", .type = DataType::i32, .count = 2, .values = bytes_of("abcdefgh")});
  EXPECT_EQ(std::tie(output.name, output.type), std::tuple("loss", DataType::i32));
  EXPECT_EQ(output.values, bytes_of("abcdefgh"));
  const auto failed = parsed(FailedMessage{
      .type = "ValueError", .message = "no", .traceback = "Traceback", .call_site = site});
  EXPECT_EQ(std::tie(failed.type, failed.message), std::tuple("ValueError", "no"));
  EXPECT_EQ(std::tie(failed.traceback, failed.call_site), std::tuple("Traceback", site));
  const auto finding = parsed(
      FindingMessage{.id = "wrong_result", .message = "5", .ranks = {2, 0}, .call_site = site});
  EXPECT_EQ(std::tie(finding.id, finding.message, finding.call_site),
            std::tuple("wrong_result", "5", site));
  EXPECT_THAT(finding.ranks, ElementsAre(2, 0));
  const auto group = parsed(NewGroupMessage{2, "7", {3, 1}, site});
  EXPECT_EQ(std::tie(group.init, group.name, group.call_site), std::tuple(2U, "7", site));
  EXPECT_THAT(group.ranks, ElementsAre(3, 1));
  EXPECT_NO_THROW(parsed(ByeMessage{}));
  const auto stack = parsed(StackMessage{{{7, "MainThread", {site, {}}}, {0, "loader", {}}}});
  ASSERT_EQ(stack.threads.size(), 2U);
  EXPECT_EQ(stack.threads[0].name, "MainThread");
  EXPECT_EQ(stack.threads[0].id, 7U);
  EXPECT_THAT(stack.threads[0].frames, ElementsAre(site, CallSite{}));
  EXPECT_EQ(stack.threads[1].name, "loader");
}

TEST_F(ClientMessages, CallSitesOutliveTheirFrames) {
  const auto first = parsed(WaitMessage{.call_site = site});
  const auto second = parsed(WaitMessage{.call_site = site});
  EXPECT_STREQ(first.call_site.file(), "dir/train.py");
  EXPECT_EQ(first.call_site.file(), second.call_site.file());  // kept once
}

TEST_F(ClientMessages, NumbersThatMeanNothingAreErrors) {
  for (const int kind : {0, 19, 128, 255})
    EXPECT_THROW(parsed_frame({static_cast<std::byte>(kind)}), ProtocolError);
  EXPECT_THROW(parsed_frame({}), ProtocolError);
  Frame operation = without_size(frame_of(OperationMessage{}));
  for (const std::size_t field : {13U, 14U, 15U}) {  // kind, type, reduce
    Frame wrong = operation;
    wrong.at(field) = std::byte{17};
    EXPECT_THROW(parsed_frame(wrong), ProtocolError);
  }
  for (const std::int64_t count : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()})
    EXPECT_THROW(parsed(OperationMessage{.count = count}), ProtocolError);
  Frame output =
      without_size(frame_of(OutputMessage{.name = "", .count = 2, .values = bytes_of("ab")}));
  output.at(6) = std::byte{3};  // the count
  EXPECT_THROW(parsed_frame(output), ProtocolError);
}

TEST_F(ClientMessages, AWaitForAnyHasOneOrMoreAndNoneTwice) {
  EXPECT_THROW(parsed(WaitMessage{.is_for_any = true, .call_site = site}), ProtocolError);
  EXPECT_THROW(parsed(WaitMessage{.ids = {3, 1, 3}, .is_for_any = true, .call_site = site}),
               ProtocolError);
  EXPECT_TRUE(parsed(WaitMessage{.call_site = site}).ids.empty());
}

TEST_F(ClientMessages, AnOutputWhoseSizeOverflowsIsAnError) {
  FrameWriter writer(12);
  writer.text("x");
  writer.number(std::uint8_t{10});
  writer.number(std::uint64_t{1} << 61U);
  writer.bytes({});
  EXPECT_THROW(parsed_frame(conducted::without_size(writer.finish())), ProtocolError);
}

TEST_F(ClientMessages, AnOutputHasWholeElements) {
  for (const auto& values : {"abcdefg", "abcdefghi", "abcdefghijkl"}) {
    const OutputMessage output{.type = DataType::i32, .count = 2, .values = bytes_of(values)};
    EXPECT_THROW(parsed(output), ProtocolError) << values;
  }
}

TEST_F(ClientMessages, NoneMayBeShorterOrLonger) {
  for (const Frame& frame : conducted::sample_frames()) {
    EXPECT_NO_THROW(parsed_frame(frame));
    for (std::size_t size = 0; size < frame.size(); ++size)
      EXPECT_THROW(parsed_frame({frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size)}),
                   ProtocolError);
    Frame longer = frame;
    longer.emplace_back();
    EXPECT_THROW(parsed_frame(longer), ProtocolError);
  }
}

// Counts what became of frames: each is a message or a ProtocolError, and costs next to nothing.
struct Outcomes {
  int read = 0;
  int refused = 0;

  void try_frame(const Frame& frame) {
    KeptTexts texts;
    try {
      parse_message(frame, texts);
      ++read;
    } catch (const ProtocolError&) {
      ++refused;
    }
  }
};

TEST_F(ClientMessages, AnythingAtAllIsReadOrRefused) {
  conducted::FrameFuzzer fuzzer(20);
  Outcomes outcomes;
  for (int i = 0; i < 40'000; ++i) {
    outcomes.try_frame(fuzzer.noise());
    outcomes.try_frame(fuzzer.mutated());
  }
  EXPECT_GT(outcomes.read, 2000);
  EXPECT_GT(outcomes.refused, 20'000);
}

TEST_F(ClientMessages, NoLengthAnywhereIsTrusted) {
  Outcomes outcomes;
  for (const Frame& frame : conducted::sample_frames())
    for (std::size_t place = 0; place < frame.size(); ++place)
      for (const std::uint32_t length : conducted::FrameFuzzer::absurd_lengths) {
        Frame wrong = frame;
        conducted::FrameFuzzer::overwrite(wrong, place, length);
        outcomes.try_frame(wrong);
      }
  EXPECT_GT(outcomes.refused, 1000);
}

// -- The conductor's --

class ServerMessages : public testing::Test {
 protected:
  template <typename Message>
  static Message parsed(const Message& message) {
    return std::get<Message>(parse_server_message(without_size(frame_of(message))));
  }
};

TEST_F(ServerMessages, AreReadAsTheyWereWritten) {
  const auto welcome = parsed(WelcomeMessage{7, 9, 1ULL << 50U, true});
  EXPECT_EQ(std::pair(welcome.version, welcome.world_size), std::pair(7U, 9));
  EXPECT_TRUE(welcome.seed == 1ULL << 50U && welcome.is_stream_ordered);
  EXPECT_EQ(parsed(RefusedMessage{"no"}).reason, "no");
  const auto done = parsed(DoneMessage{{{.status = Status::mismatch,
                                         .source = 3,
                                         .tag = -1,
                                         .ranks = {4, 2},
                                         .error = "why",
                                         .data = bytes_of("abcd")},
                                        {}}});
  ASSERT_EQ(done.results.size(), 2U);
  EXPECT_EQ(done.results[0].status, Status::mismatch);
  EXPECT_EQ(done.results[0].source, 3);
  EXPECT_EQ(done.results[0].tag, -1);
  EXPECT_THAT(done.results[0].ranks, ElementsAre(4, 2));
  EXPECT_EQ(done.results[0].error, "why");
  EXPECT_THAT(done.results[0].values<char>(), ElementsAre('a', 'b', 'c', 'd'));
  EXPECT_EQ(done.results[1].status, Status::done);
  EXPECT_TRUE(parsed(TestedMessage{true}).is_complete);
  EXPECT_FALSE(parsed(TestedMessage{false}).is_complete);
  const auto stored = parsed(StoredMessage{
      .status = Status::timeout, .number = -5, .values = {bytes_of("v"), {}}, .error = "late"});
  EXPECT_EQ(stored.status, Status::timeout);
  EXPECT_EQ(stored.number, -5);
  EXPECT_THAT(stored.values, ElementsAre(bytes_of("v"), bytes_of("")));
  EXPECT_EQ(stored.error, "late");
  EXPECT_NO_THROW(parsed(AskStackMessage{}));
  EXPECT_EQ(parsed(OverMessage{.error = "DEADLOCK"}).error, "DEADLOCK");
}

TEST_F(ServerMessages, HaveTheNumbersOfTheProtocol) {
  const auto kind = [](const ServerMessage& message) {
    return static_cast<int>(without_size(frame_of(message)).at(0));
  };
  EXPECT_EQ(kind(WelcomeMessage{}), 128);
  EXPECT_EQ(kind(RefusedMessage{}), 129);
  EXPECT_EQ(kind(DoneMessage{}), 130);
  EXPECT_EQ(kind(TestedMessage{}), 131);
  EXPECT_EQ(kind(StoredMessage{}), 132);
  EXPECT_EQ(kind(AskStackMessage{}), 133);
  EXPECT_EQ(kind(OverMessage{}), 134);
  EXPECT_EQ(kind(FirstMessage{}), 135);
  EXPECT_EQ(without_size(frame_of(OverMessage{})).at(1), std::byte{10});
  for (const int wrong : {0, 127, 136})
    EXPECT_THROW(parse_server_message(Frame{static_cast<std::byte>(wrong)}), ProtocolError);
}

TEST_F(ClientMessages, HaveTheNumbersOfTheProtocol) {
  std::vector<int> kinds;
  for (const Frame& frame : conducted::sample_frames())
    kinds.push_back(static_cast<int>(frame.at(0)));
  EXPECT_THAT(kinds, ElementsAre(1, 2, 5, 18, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 3, 4));
}

TEST_F(ClientMessages, AGroupHasARoleAndAStartTellsOfNoThreads) {
  EXPECT_EQ(parsed(GroupMessage{.name = "3", .role = "tp"}).role, "tp");
  EXPECT_THAT(parsed(OperationMessage{.threads = {3}}).threads, testing::IsEmpty());
}

// As other clients write them: behind the size, the kind, the id, the group, and three bytes.
TEST_F(ClientMessages, TheFlagsOfAnOperationAreBits) {
  constexpr std::size_t place = 4 + 1 + 8 + 4 + 3;
  EXPECT_EQ(frame_of(OperationMessage{.from_any = true}).at(place), std::byte{1});
  EXPECT_EQ(frame_of(OperationMessage{.any_tag = true}).at(place), std::byte{2});
  EXPECT_EQ(frame_of(OperationMessage{.all_missing = true}).at(place), std::byte{4});
}

TEST_F(ClientMessages, AKindIsOneOfTheProtocol) {
  Frame frame = without_size(frame_of(HelloMessage{.version = 1, .world_size = 2}));
  frame.front() = std::byte{0};
  EXPECT_THROW(parsed_frame(frame), ProtocolError);
  Frame welcome = without_size(frame_of(WelcomeMessage{}));
  welcome.front() = static_cast<std::byte>(128 + std::variant_size_v<ServerMessage>);
  EXPECT_THAT([&] { parse_server_message(welcome); },
              testing::ThrowsMessage<ProtocolError>("a frame has kind 136; must be 128 to 135"));
}

}  // namespace
}  // namespace gang::harness
