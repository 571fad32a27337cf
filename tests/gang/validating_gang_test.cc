#include "gang/validating_gang.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gang/capturing_gang.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using test::CapturingGang;

// Rank 0 of two: the other rank makes the same calls, except for what `alter` changes in their
// bytes.
class ValidatingGangTest : public testing::Test {
 protected:
  using Alter = std::function<void(std::byte* others)>;

  std::shared_ptr<Gang> make(Alter alter = {}) {
    inner->reaction = [this, alter](Operation& operation) {
      if (operation.collective.kind != OperationKind::create_gang) return;
      side = std::make_shared<CapturingGang>(2);
      side->reaction = [this, alter](Operation& exchange) { answer(exchange, alter); };
      *operation.extras->created = side;
    };
    auto gang = make_validating_gang(inner, {.runtime = make_real_runtime()});
    inner->sent.clear();
    return gang;
  }

  void answer(const Operation& exchange, const Alter& alter) {
    if (exchange.collective.kind == OperationKind::send) {
      said.assign(exchange.input.data(), exchange.input.data() + exchange.input.size_bytes());
    } else if (exchange.collective.kind == OperationKind::recv) {
      if (exchange.output.size_bytes() != said.size()) return;
      std::ranges::copy(said, exchange.output.data());
      if (alter && said.size() == 256) alter(exchange.output.data());
    }
    if (exchange.collective.kind == OperationKind::all_gather) {
      const std::size_t size = exchange.input.size_bytes();
      for (std::size_t rank = 0; rank < 2; ++rank)
        std::memcpy(exchange.output.data() + rank * size, exchange.input.data(), size);
      if (alter && size == 64) alter(exchange.output.data() + size);
    } else if (exchange.collective.kind == OperationKind::all_to_all) {
      std::memcpy(exchange.output.data(), exchange.input.data(), exchange.input.size_bytes());
    }
  }

  std::shared_ptr<CapturingGang> inner = std::make_shared<CapturingGang>(2);
  std::shared_ptr<CapturingGang> side;
  std::vector<std::byte> said;  // of the last message
};

TEST_F(ValidatingGangTest, MatchingCallsArePassedOn) {
  const auto gang = make();
  std::vector<float> values(4);
  gang->all_reduce(view(values), ReduceOperation::sum);
  gang->start_broadcast(view(values), 1).wait();
  ASSERT_EQ(inner->sent.size(), 2U);
  EXPECT_EQ(inner->sent[0].collective().kind, OperationKind::all_reduce);
  EXPECT_EQ(inner->sent[1].collective().kind, OperationKind::broadcast);
  EXPECT_EQ(side->sent.size(), 2U);
}

TEST_F(ValidatingGangTest, AMismatchIsReportedBeforeAnythingIsSentAndStays) {
  const auto gang = make([](std::byte* others) {
    const std::int64_t count = 9;
    std::memcpy(others + 8, &count, sizeof(count));
  });
  std::vector<float> values(4);
  for (int i = 0; i < 2; ++i) {
    try {
      gang->all_reduce(view(values), ReduceOperation::sum);
      FAIL() << "passed on";
    } catch (const GangError& error) {
      EXPECT_EQ(error.kind(), GangErrorKind::mismatch);
      EXPECT_EQ(error.ranks_at_fault(), std::vector<int>{1});
      EXPECT_NE(std::string(error.what()).find("the numbers of elements differ: rank 0 calls"),
                std::string::npos)
          << error.what();
    }
  }
  EXPECT_TRUE(inner->sent.empty());
  EXPECT_EQ(inner->aborts, 1);
}

TEST_F(ValidatingGangTest, ALaterErrorIsThatOfItsOwnCall) {
  const auto gang = make([](std::byte* others) { others[8] ^= std::byte{1}; });
  std::vector<float> values(4);
  EXPECT_THROW(gang->all_reduce(view(values), ReduceOperation::sum), GangError);
  try {
    gang->barrier();
    FAIL() << "passed on";
  } catch (const GangError& error) {
    EXPECT_EQ(error.kind(), GangErrorKind::mismatch);
    EXPECT_EQ(error.operation().kind, OperationKind::barrier);
    EXPECT_EQ(error.elapsed(), Duration(0));
  }
}

TEST_F(ValidatingGangTest, EvenAndUnevenAllToAllsDoNotMatch) {
  const auto gang = make([](std::byte* others) { others[39] ^= std::byte{1}; });
  std::vector<float> input(4);
  std::vector<float> output(4);
  EXPECT_THAT(test::message_of<GangError>([&] { gang->all_to_all(view(output), view(input)); }),
              testing::HasSubstr("the operations differ"));
}

TEST_F(ValidatingGangTest, ALabelThatOnlyOneRankGivesIsNotAMismatch) {
  const auto gang = make([](std::byte* others) { std::memset(others + 24, 0, 8); });
  gang->barrier({.label = "step 3"});
  EXPECT_EQ(inner->sent.size(), 1U);
  const auto other = make([](std::byte* others) { std::memset(others + 24, 7, 8); });
  EXPECT_THROW(other->barrier({.label = "step 3"}), GangError);
}

TEST_F(ValidatingGangTest, SplitSizesAreComparedPairByPair) {
  const auto gang = make();
  std::vector<std::int32_t> input(3);
  std::vector<std::int32_t> output(3);
  const std::vector<std::int64_t> splits = {1, 2};
  gang->all_to_all(view(output), view(input), {.output = splits, .input = splits});
  const std::vector<std::int64_t> other = {2, 1};
  EXPECT_THROW(gang->all_to_all(view(output), view(input), {.output = other, .input = splits}),
               GangError);
}

TEST_F(ValidatingGangTest, CountsOfAnAllGatherMustBeTheSame) {
  const std::vector<std::int64_t> counts = {1, 2};
  std::vector<std::int32_t> input(1);
  std::vector<std::int32_t> output(3);
  make()->all_gather(view(output), view(input), counts);
  const auto gang = make([](std::byte* others) { others[16] ^= std::byte{1}; });
  EXPECT_THAT(
      test::message_of<GangError>([&] { gang->all_gather(view(output), view(input), counts); }),
      testing::HasSubstr(to_string(CallDifference::count)));
}

TEST_F(ValidatingGangTest, MessagesAreAnnouncedAlongWithTheirData) {
  const auto gang = make();
  float value = 0;
  gang->send(view_of(value), 1, 3);
  ASSERT_EQ(inner->sent.size(), 1U);
  EXPECT_EQ(inner->sent[0].collective().tag, 3);
  ASSERT_EQ(side->sent.size(), 2U);
  EXPECT_EQ(side->sent[0].collective().kind, OperationKind::send);
  EXPECT_EQ(side->sent[1].collective().kind, OperationKind::recv);
  EXPECT_EQ(side->sent[0].operation.input.size_bytes(), 256U);
}

TEST_F(ValidatingGangTest, ItsTimeoutIsThatOfExchangeAndOperationTogether) {
  const auto gang = make();
  const auto answer = side->reaction;
  side->reaction = [answer](Operation& exchange) {
    std::this_thread::sleep_for(50ms);
    answer(exchange);
  };
  gang->barrier({.timeout = 10s});
  ASSERT_EQ(inner->sent.size(), 1U);
  EXPECT_LE(inner->sent[0].operation.timeout, Duration(10s) - 50ms);
  EXPECT_GT(inner->sent[0].operation.timeout, 1s);
}

// The other rank announces another count for the first message, another type for the second.
TEST_F(ValidatingGangTest, TheFirstCauseStaysWhateverFailsLater) {
  int announcements = 0;
  const auto gang = make([&announcements](std::byte* others) {
    const std::size_t place = announcements++ == 0 ? 0 : 8;
    others[place] ^= std::byte{0x7f};
  });
  float values[2] = {};
  Work works[] = {gang->start_send(view_of(values[0]), 1, 1),
                  gang->start_send(view_of(values[1]), 1, 2)};
  const auto difference_in = [](const auto& act) -> std::optional<CallDifference> {
    try {
      act();
    } catch (const GangError& error) {
      return error.difference();
    }
    return std::nullopt;
  };
  EXPECT_EQ(difference_in([&works] { works[0].wait(); }), CallDifference::count);
  EXPECT_EQ(difference_in([&works] { works[1].wait(); }), CallDifference::data_type);
  EXPECT_EQ(difference_in([&gang] { gang->barrier(); }), CallDifference::count);
}

TEST_F(ValidatingGangTest, ClosingAndAbortingReachBothGangs) {
  auto gang = make();
  gang->abort();
  gang->close();
  EXPECT_EQ(inner->aborts, 1);
  EXPECT_EQ(side->aborts, 1);
  EXPECT_EQ(inner->closes, 1);
  EXPECT_EQ(side->closes, 1);
}

}  // namespace
}  // namespace gang
