#include "harness/conductor/started_operation.h"

#include <numeric>

#include "gang/error.h"
#include "gang/fake_gang.h"
#include "tests/harness/conductor/conducted_world.h"

namespace gang::harness {
namespace {

using namespace conducted;  // NOLINT(google-build-using-namespace)
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

using Values = std::vector<std::int32_t>;

// Where the values of an operation are, and how it is called.
enum class Place : std::uint8_t { frame, block };
enum class Way : std::uint8_t { call, start };

class EveryOperation : public testing::TestWithParam<std::tuple<Place, Way>> {
 protected:
  static constexpr std::size_t in_place = 0;
  static constexpr std::size_t behind = 64;  // an input of at most 64 bytes

  // What the rank has after the operation, `count` elements.
  static Values perform(Client& client, OperationMessage message, const Values& input,
                        std::size_t output_begin, std::size_t count) {
    const auto [place, way] = GetParam();
    message.type = DataType::i32;
    const SharedMemory memory(4096);
    if (place == Place::block) {
      client.block(1, memory.descriptor(), memory.size());
      message.block = 1;
      std::ranges::copy(input, memory.at<std::int32_t>(0));
    } else {
      message.data = bytes_of(input);
    }
    const OperationResult result =
        way == Way::call ? client.call(message) : client.wait(client.start(message));
    EXPECT_EQ(result.status, Status::done) << result.error;
    if (place == Place::frame) return result.values<std::int32_t>();
    EXPECT_THAT(result.data, IsEmpty());
    const auto* const first = memory.at<std::int32_t>(output_begin);
    return {first, first + count};
  }

  // What each of three ranks has after `rank_program`.
  static std::vector<Values> run(const std::function<Values(Client&)>& rank_program) {
    std::vector<Values> values(3);
    const RunResult result = conduct(3, [&](Client& client) {
      values[static_cast<std::size_t>(client.rank())] = rank_program(client);
    });
    EXPECT_TRUE(result.holds()) << to_string(result);
    return values;
  }
};

INSTANTIATE_TEST_SUITE_P(All, EveryOperation,
                         testing::Combine(testing::Values(Place::frame, Place::block),
                                          testing::Values(Way::call, Way::start)));

TEST_P(EveryOperation, AllReduce) {
  const auto values = run([](Client& client) {
    const int rank = client.rank();
    return perform(client, {.kind = OperationKind::all_reduce, .count = 2}, {rank, 10 * rank},
                   in_place, 2);
  });
  EXPECT_THAT(values, testing::Each(ElementsAre(3, 30)));
}

TEST_P(EveryOperation, Reduce) {
  const auto values = run([](Client& client) {
    const int rank = client.rank();
    return perform(
        client,
        {.kind = OperationKind::reduce, .reduce = ReduceOperation::max, .peer = 1, .count = 2},
        {rank, -rank}, in_place, rank == 1 ? 2 : 0);
  });
  EXPECT_THAT(values, ElementsAre(IsEmpty(), ElementsAre(2, 0), IsEmpty()));
}

TEST_P(EveryOperation, ReduceScatter) {
  const auto values = run([](Client& client) {
    Values input(6);
    std::iota(input.begin(), input.end(), client.rank());
    return perform(client, {.kind = OperationKind::reduce_scatter, .count = 2}, input, behind, 2);
  });
  EXPECT_THAT(values, ElementsAre(ElementsAre(3, 6), ElementsAre(9, 12), ElementsAre(15, 18)));
}

TEST_P(EveryOperation, AllGather) {
  const auto values = run([](Client& client) {
    const int rank = client.rank();
    return perform(client, {.kind = OperationKind::all_gather, .count = 2}, {rank, rank + 10},
                   behind, 6);
  });
  EXPECT_THAT(values, testing::Each(ElementsAre(0, 10, 1, 11, 2, 12)));
}

TEST_P(EveryOperation, Gather) {
  const auto values = run([](Client& client) {
    const int rank = client.rank();
    return perform(client, {.kind = OperationKind::gather, .peer = 2, .count = 2},
                   {rank, rank + 10}, behind, rank == 2 ? 6 : 0);
  });
  EXPECT_THAT(values, ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(0, 10, 1, 11, 2, 12)));
}

TEST_P(EveryOperation, Scatter) {
  const auto values = run([](Client& client) {
    const bool is_root = client.rank() == 0;
    return perform(client, {.kind = OperationKind::scatter, .peer = 0, .count = 2},
                   is_root ? Values{0, 1, 2, 3, 4, 5} : Values{}, is_root ? behind : in_place, 2);
  });
  EXPECT_THAT(values, ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5)));
}

TEST_P(EveryOperation, AllToAll) {
  const auto values = run([](Client& client) {
    const int rank = client.rank();
    return perform(client, {.kind = OperationKind::all_to_all, .count = 3},
                   {10 * rank, 10 * rank + 1, 10 * rank + 2}, behind, 3);
  });
  EXPECT_THAT(values,
              ElementsAre(ElementsAre(0, 10, 20), ElementsAre(1, 11, 21), ElementsAre(2, 12, 22)));
}

TEST_P(EveryOperation, AllGatherWithCounts) {
  const auto values = run([](Client& client) {
    const int rank = client.rank();
    return perform(client, {.kind = OperationKind::all_gather, .count = rank, .first = {0, 1, 2}},
                   Values(static_cast<std::size_t>(rank), 10 * rank), rank == 0 ? in_place : behind,
                   3);
  });
  EXPECT_THAT(values, Each(ElementsAre(10, 20, 20)));
}

TEST_P(EveryOperation, Scan) {
  const auto values = run([](Client& client) {
    return perform(client, {.kind = OperationKind::scan, .count = 2}, {client.rank(), 1}, in_place,
                   2);
  });
  EXPECT_THAT(values, ElementsAre(ElementsAre(0, 1), ElementsAre(1, 2), ElementsAre(3, 3)));
}

TEST_P(EveryOperation, ExclusiveScanGivesTheFirstRankNothing) {
  const auto values = run([](Client& client) {
    return perform(client, {.kind = OperationKind::exclusive_scan, .count = 1}, {client.rank() + 1},
                   in_place, client.rank() == 0 ? 0 : 1);
  });
  EXPECT_THAT(values, ElementsAre(IsEmpty(), ElementsAre(1), ElementsAre(3)));
}

TEST_P(EveryOperation, AllToAllWithSplits) {
  const auto values = run([](Client& client) {
    const int rank = client.rank();
    const std::int64_t received = rank + 1;  // from each rank
    return perform(
        client,
        {.kind = OperationKind::all_to_all,
         .count = 6,
         .first = {1, 2, 3},
         .second = {received, received, received}},
        {10 * rank, 10 * rank + 1, 10 * rank + 1, 10 * rank + 2, 10 * rank + 2, 10 * rank + 2},
        behind, static_cast<std::size_t>(3 * received));
  });
  EXPECT_THAT(values, ElementsAre(ElementsAre(0, 10, 20), ElementsAre(1, 1, 11, 11, 21, 21),
                                  ElementsAre(2, 2, 2, 12, 12, 12, 22, 22, 22)));
}

TEST_P(EveryOperation, Broadcast) {
  const auto values = run([](Client& client) {
    const bool is_root = client.rank() == 1;
    const Values input = is_root ? Values{7, 8} : Values{};
    return perform(client, {.kind = OperationKind::broadcast, .peer = 1, .count = 2}, input,
                   in_place, is_root ? 0 : 2);
  });
  EXPECT_THAT(values, ElementsAre(ElementsAre(7, 8), IsEmpty(), ElementsAre(7, 8)));
}

TEST_P(EveryOperation, Barriers) {
  const auto values = run([](Client& client) {
    perform(client, {.kind = OperationKind::barrier}, {}, in_place, 0);
    return perform(client, {.kind = OperationKind::monitored_barrier, .count = 1'000'000'000}, {},
                   in_place, 0);
  });
  EXPECT_THAT(values, testing::Each(IsEmpty()));
}

TEST_P(EveryOperation, Messages) {
  const auto values = run([](Client& client) -> Values {
    const int rank = client.rank();
    const OperationMessage recv{.kind = OperationKind::recv, .peer = 0, .tag = 5, .count = 2};
    if (rank == 1) return perform(client, recv, {}, in_place, 2);
    if (rank == 0)
      perform(client, {.kind = OperationKind::send, .peer = 1, .tag = 5, .count = 2}, {3, 4},
              in_place, 0);
    return {};
  });
  EXPECT_THAT(values, ElementsAre(IsEmpty(), ElementsAre(3, 4), IsEmpty()));
}

TEST(StartedOperations, AReceiveFromAnySourceSaysWhatItGot) {
  for (const Way way : {Way::call, Way::start}) {
    std::vector<std::array<int, 3>> received;
    const RunResult result = conduct(3, [&](Client& client) {
      if (client.rank() != 0) {
        const std::vector<std::uint8_t> value = {static_cast<std::uint8_t>(client.rank() + 40)};
        client.call({.kind = OperationKind::send,
                     .peer = 0,
                     .tag = client.rank() * 7,
                     .count = 1,
                     .data = bytes_of(value)});
        return;
      }
      for (int i = 0; i < 2; ++i) {
        const OperationMessage recv{
            .kind = OperationKind::recv, .from_any = true, .any_tag = true, .count = 1};
        const OperationResult got =
            way == Way::call ? client.call(recv) : client.wait(client.start(recv));
        received.push_back({got.source, got.tag, got.values<std::uint8_t>().at(0)});
      }
    });
    EXPECT_TRUE(result.holds()) << to_string(result);
    EXPECT_THAT(received,
                testing::UnorderedElementsAre(std::array{1, 7, 41}, std::array{2, 14, 42}));
  }
}

TEST(StartedOperations, KnowEveryTypeAndReduction) {
  const auto reduced = [](DataType type, ReduceOperation reduce, const auto& mine) {
    std::vector<std::byte> first;
    const RunResult result = conduct(2, [&](Client& client) {
      const auto values = mine(client.rank());
      const OperationResult done = client.call({.kind = OperationKind::all_reduce,
                                                .type = type,
                                                .reduce = reduce,
                                                .count = static_cast<std::int64_t>(values.size()),
                                                .data = bytes_of(values)});
      if (client.rank() == 0) first = done.data;
    });
    EXPECT_TRUE(result.holds()) << to_string(result);
    return first;
  };
  const auto doubles = [](int rank) { return std::vector<double>{1.0 + rank, 2.0}; };
  const auto floats = [](int rank) { return std::vector<float>{static_cast<float>(rank)}; };
  const auto bits = [](int rank) { return std::vector<std::uint64_t>{rank == 0 ? 12U : 10U}; };
  const auto bools = [](int rank) { return std::vector<std::uint8_t>{rank == 0, 1}; };
  using enum ReduceOperation;
  EXPECT_THAT(values_in<double>(reduced(DataType::f64, product, doubles)), ElementsAre(2, 4));
  EXPECT_THAT(values_in<float>(reduced(DataType::f32, mean, floats)), ElementsAre(0.5F));
  EXPECT_THAT(values_in<std::uint64_t>(reduced(DataType::u64, bitwise_and, bits)), ElementsAre(8));
  EXPECT_THAT(values_in<std::uint64_t>(reduced(DataType::u64, bitwise_or, bits)), ElementsAre(14));
  EXPECT_THAT(values_in<std::uint64_t>(reduced(DataType::u64, bitwise_xor, bits)), ElementsAre(6));
  EXPECT_THAT(values_in<std::uint8_t>(reduced(DataType::boolean, min, bools)), ElementsAre(0, 1));
}

TEST(StartedOperations, MakeGangs) {
  std::vector<std::vector<int>> created(4);
  std::vector<std::vector<int>> split(4);
  std::vector<std::vector<int>> shrunk(4);
  std::vector<std::int32_t> sums(4);
  const RunResult result = conduct(4, [&](Client& client) {
    const auto rank = static_cast<std::size_t>(client.rank());
    const auto count_in = [&client](std::uint32_t group) {
      return client
          .call({.group = group,
                 .kind = OperationKind::all_reduce,
                 .type = DataType::i32,
                 .count = 1,
                 .data = bytes_of(Values{client.rank()})})
          .values<std::int32_t>()
          .at(0);
    };
    created[rank] =
        client
            .call(
                {.kind = OperationKind::create_gang, .result = 7, .first = {2, 0}, .label = "pair"})
            .ranks;
    if (!created[rank].empty()) sums[rank] = count_in(7);
    const std::int64_t color = client.rank() == 3 ? -1 : client.rank() % 2;
    split[rank] =
        client.call({.kind = OperationKind::split, .result = 8, .first = {color, -client.rank()}})
            .ranks;
    if (!split[rank].empty()) sums[rank] += 100 * count_in(8);
    shrunk[rank] = client.call({.kind = OperationKind::shrink, .result = 9}).ranks;
    sums[rank] += 1000 * count_in(9);
  });
  EXPECT_TRUE(result.holds()) << to_string(result);
  EXPECT_THAT(created, ElementsAre(ElementsAre(2, 0), IsEmpty(), ElementsAre(2, 0), IsEmpty()));
  EXPECT_THAT(split, ElementsAre(ElementsAre(2, 0), ElementsAre(1), ElementsAre(2, 0), IsEmpty()));
  EXPECT_THAT(shrunk, testing::Each(ElementsAre(0, 1, 2, 3)));
  EXPECT_THAT(sums, ElementsAre(6202, 6100, 6202, 6000));
}

// -- Memory --

TEST(StartedOperations, NoNumberOfASourceMeansAnyRank) {
  std::optional<Status> told;
  conduct(2, [&told](Client& client) {
    if (client.rank() == 0)
      client.call({.kind = OperationKind::send, .peer = 1, .count = 1, .data = bytes_of("x")});
    else
      told = client
                 .call({.kind = OperationKind::recv,
                        .peer = std::numeric_limits<std::int32_t>::min(),
                        .count = 1})
                 .status;
  });
  EXPECT_EQ(told, Status::invalid_argument);
}

TEST(StartedOperations, AMonitoredBarrierHasItsTimeoutAndNamesAllIfItIsToldTo) {
  for (const bool names_all : {false, true}) {
    OperationResult told;
    conduct(4, [&](Client& client) {
      if (client.rank() == 0)
        told = client.call({.kind = OperationKind::monitored_barrier,
                            .all_missing = names_all,
                            .count = 1'000'000'000});
      else
        client.store({.function = StoreFunction::wait, .keys = {"never"}, .timeout = 5s});
    });
    EXPECT_EQ(told.status, Status::timeout) << told.error;
    EXPECT_THAT(told.error, testing::HasSubstr(names_all ? "1-3" : "rank 1"));
  }
}

class OperationMemory : public testing::Test {
 protected:
  StartedOperation make(OperationMessage message) const {
    return {std::move(message), {make_fake_gang({.rank = 1, .size = 4})}, nullptr};
  }
};

TEST_F(OperationMemory, MustBeWhatTheOperationTakes) {
  const std::vector<std::byte> four(4);
  const std::vector<std::byte> sixteen(16);
  using enum OperationKind;
  EXPECT_NO_THROW(make({.kind = all_reduce, .count = 4, .data = four}));
  EXPECT_NO_THROW(make({.kind = reduce_scatter, .count = 4, .data = sixteen}));
  EXPECT_NO_THROW(make({.kind = broadcast, .peer = 0, .count = 4}));
  EXPECT_THROW(make({.kind = all_reduce, .count = 3, .data = four}), ProtocolError);
  EXPECT_THROW(make({.kind = all_reduce, .type = DataType::i32, .count = 4, .data = four}),
               ProtocolError);
  EXPECT_THROW(make({.kind = broadcast, .peer = 0, .count = 4, .data = four}), ProtocolError);
  EXPECT_THROW(make({.kind = broadcast, .peer = 1, .count = 4}), ProtocolError);
  EXPECT_THROW(make({.kind = recv, .count = 4, .data = four}), ProtocolError);
  EXPECT_THROW(make({.kind = barrier, .data = four}), ProtocolError);
}

TEST_F(OperationMemory, HasALimit) {
  using enum OperationKind;
  const auto huge = std::int64_t{1} << 58U;
  for (const OperationKind kind : {all_reduce, reduce, reduce_scatter, all_gather, gather, scatter,
                                   all_to_all, broadcast, scan, send, recv})
    EXPECT_THROW(make({.kind = kind, .type = DataType::f64, .peer = 1, .count = huge}),
                 ProtocolError)
        << to_string(kind);
  EXPECT_THROW(make({.kind = all_to_all, .second = {huge, huge, huge, huge}}), ProtocolError);
  EXPECT_THROW(make({.kind = all_to_all, .second = {-1, 1, 0, 0}}), ProtocolError);
  EXPECT_THROW(make({.kind = all_gather, .first = {huge, huge, huge, huge}}), ProtocolError);
  EXPECT_THROW(make({.kind = all_gather, .first = {-1, 1, 0, 0}}), ProtocolError);
}

TEST_F(OperationMemory, InABlockEndsWithTheBlock) {
  const SharedMemory memory(256);
  const auto block =
      std::make_shared<const SharedBlock>(Descriptor(::dup(memory.descriptor())), memory.size());
  const auto gang = make_fake_gang({.rank = 0, .size = 4});
  const auto make_in_block = [&](OperationKind kind, std::int64_t count) {
    return StartedOperation({.kind = kind, .count = count}, {gang}, block);
  };
  EXPECT_NO_THROW(make_in_block(OperationKind::all_reduce, 256));
  EXPECT_THROW(make_in_block(OperationKind::all_reduce, 257), ProtocolError);
  EXPECT_NO_THROW(make_in_block(OperationKind::all_gather, 48));  // 64 + 4 * 48
  EXPECT_THROW(make_in_block(OperationKind::all_gather, 49), ProtocolError);
}

TEST_F(OperationMemory, AnErrorOfTheCallIsItsResult) {
  StartedOperation operation =
      make({.is_blocking = true, .kind = OperationKind::recv, .peer = 9, .count = 1});
  operation.start();
  EXPECT_TRUE(operation.test(*make_real_runtime()));
  EXPECT_THROW(std::rethrow_exception(operation.error()), InvalidArgument);
  EXPECT_THAT(operation.data(), IsEmpty());
}

}  // namespace
}  // namespace gang::harness
