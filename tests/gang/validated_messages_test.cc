#include "gang/validated_messages.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gang/capturing_gang.h"
#include "tests/gang/scripted_work.h"

namespace gang {
namespace {

using test::CapturingGang;

// Rank 0 of two, whose other rank announces what `alter` makes of this rank's announcement.
class ValidatedMessagesTest : public testing::Test, protected ValidatedGang {
 protected:
  using Alter = std::function<void(std::byte* others)>;

  ValidatedMessagesTest() {
    side_gang->reaction = [this](Operation& exchange) {
      const bool is_send = exchange.collective.kind == OperationKind::send;
      const Elements& bytes = is_send ? exchange.input : exchange.output;
      if (bytes.size_bytes() != said.size()) return;
      if (is_send)
        std::ranges::copy_n(bytes.data(), said.size(), said.begin());
      else
        std::ranges::copy(said, bytes.data());
      if (!is_send && alter) alter(bytes.data());
    };
  }

  Gang& side() noexcept override { return *side_gang; }
  Work forward(Operation& operation) override {
    forwarded.emplace_back(operation);
    return {};
  }
  GangError break_with(const Collective&, TimePoint, GangFailure failure) override {
    return GangError(std::move(failure));
  }

  Work start(const Operation& operation) {
    return start_validated_messages(*this, nullptr, board, operation);
  }

  Operation send_of(const TensorView& tensor, int tag = 0, std::string_view label = {}) {
    Operation operation;
    operation.collective = {.kind = OperationKind::send,
                            .data_type = tensor.type(),
                            .peer = 1,
                            .tag = tag,
                            .count = tensor.count(),
                            .label = label};
    operation.input = operation.output = tensor;
    return operation;
  }

  std::shared_ptr<CapturingGang> side_gang = std::make_shared<CapturingGang>(2);
  std::shared_ptr<Runtime> runtime = make_real_runtime();
  std::shared_ptr<CompletionBoard> board = std::make_shared<CompletionBoard>(runtime);
  std::vector<std::byte> said = std::vector<std::byte>(256);
  std::vector<test::Sent> forwarded;
  Alter alter;
  std::vector<float> values = std::vector<float>(4);
};

TEST_F(ValidatedMessagesTest, AreSentIfBothSidesAgree) {
  start(send_of(view(values), 5)).wait();
  ASSERT_EQ(forwarded.size(), 1U);
  ASSERT_EQ(side_gang->sent.size(), 2U);
  EXPECT_EQ(side_gang->sent[0].collective().tag, 10);
  EXPECT_EQ(side_gang->sent[1].collective().tag, 11);
}

TEST_F(ValidatedMessagesTest, AreMismatchesIfTheSidesDiffer) {
  const std::vector<std::pair<std::size_t, std::string>> fields = {
      {0, "numbers of elements"}, {8, "data types"}, {16, "labels"}};
  for (const auto& [offset, what] : fields) {
    alter = [offset](std::byte* others) { others[offset] ^= std::byte{0x7f}; };
    const std::string text =
        test::message_of<GangError>([&] { start(send_of(view(values), 0, "weights")).wait(); });
    EXPECT_NE(text.find("the " + what + " differ: rank 0 calls send"), std::string::npos) << text;
  }
}

TEST_F(ValidatedMessagesTest, ALabelOfOneSideIsNotAMismatch) {
  alter = [](std::byte* others) { std::fill_n(others + 16, 64, std::byte{0}); };
  start(send_of(view(values), 0, "weights")).wait();
  EXPECT_EQ(forwarded.size(), 1U);
  alter = [](std::byte* others) { std::fill_n(others + 16, 3, std::byte{'w'}); };
  start(send_of(view(values))).wait();
  EXPECT_EQ(forwarded.size(), 2U);
}

TEST_F(ValidatedMessagesTest, AReceiveFromAnyRankLearnsItsSourceWithoutAWait) {
  const auto heard = test::complete_work();
  heard->got = {1, 11};
  side_gang->work = heard;
  Operation receive = send_of(view(values), 5);
  receive.collective.kind = OperationKind::recv;
  receive.collective.peer = any_rank;
  receive.collective.shape = Shape::vector(4);
  alter = [](std::byte* others) {
    const std::int64_t fields[] = {4, static_cast<std::int64_t>(DataType::f32)};
    std::memcpy(others, fields, sizeof fields);
  };
  Work work = start(receive);
  while (!work.test()) std::this_thread::yield();
  ASSERT_EQ(forwarded.size(), 1U);
  EXPECT_EQ(forwarded[0].collective().peer, 1);
  EXPECT_EQ(work.received().source_rank, 1);
  EXPECT_EQ(work.received().tag, 5);
}

TEST_F(ValidatedMessagesTest, ABatchIsForwardedInThePartsWhoseOtherSidesAreKnown) {
  const auto heard = test::complete_work();
  heard->got = {1, 1};
  side_gang->work = heard;
  const std::vector<PointToPoint> entries = {{OperationKind::send, view(values), 1, 0},
                                             {OperationKind::recv, view(values), any_rank, 0}};
  Operation batch;
  batch.collective = {.kind = OperationKind::batch, .blocking = true, .count = 2};
  const OperationExtras extras{.batch = entries};
  batch.extras = &extras;
  start(batch).wait();
  ASSERT_EQ(forwarded.size(), 2U);
  EXPECT_EQ(forwarded[0].collective().kind, OperationKind::batch);
  EXPECT_EQ(forwarded[0].collective().count, 1);
  EXPECT_EQ(forwarded[1].collective().kind, OperationKind::recv);
  EXPECT_EQ(forwarded[1].extras.batch.size(), 0U);
}

TEST_F(ValidatedMessagesTest, TagsWithoutRoomForTwoAreRefusedBeforeAnythingIsSent) {
  for (const int tag : {any_tag, highest_validated_tag + 1})
    EXPECT_THROW(start(send_of(view(values), tag)), NotSupported);
  start(send_of(view(values), highest_validated_tag)).wait();
  EXPECT_EQ(forwarded.size(), 1U);
  EXPECT_EQ(side_gang->sent.size(), 2U);
}

}  // namespace
}  // namespace gang
