#include "properties/messages_keep_order.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

constexpr const char* message_order_law = "per_source_destination_and_tag";

// Gangs that change an operation before it is started.
Subject changing(const std::function<void(Operation&)>& change) {
  Subject subject;
  subject.wrap = [change](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    class Changing final : public ForwardingGang {
     public:
      Changing(std::shared_ptr<Gang> inner, std::function<void(Operation&)> change)
          : ForwardingGang(std::move(inner)), change_(std::move(change)) {}

     protected:
      Work do_start(Operation& operation) override {
        change_(operation);
        return ForwardingGang::do_start(operation);
      }

     private:
      std::function<void(Operation&)> change_;
    };
    return std::make_shared<Changing>(std::move(gang), change);
  };
  return subject;
}

TEST(MessagesKeepOrder, HoldsOnSimulatedGangs) { expect_hold(messages_keep_order(), 2000); }

// Gangs without tags, such as NCCL's, pass messages in batches.
TEST(MessagesKeepOrder, ABatchThatSwapsTwoMessagesOfOneTagIsCaught) {
  Subject subject;
  subject.has_tags = false;
  expect_hold(messages_keep_order(subject), 500);
  subject.wrap =
      running_by([](Operation& operation, const auto& inner) {
        std::vector<PointToPoint> batch(operation.extras->batch.begin(),
                                        operation.extras->batch.end());
        if (batch.size() > 1 && batch[0].kind == batch[1].kind && batch[0].peer == batch[1].peer)
          std::swap(batch[0], batch[1]);
        OperationExtras extras = *operation.extras;
        extras.batch = batch;
        operation.extras = &extras;
        return inner(operation);
      }).wrap;
  const Counterexample found = expect_caught(messages_keep_order(subject), message_order_law,
                                             "receives message 1 out of order");
  EXPECT_THAT(found.text, ::testing::HasSubstr("2 messages received by source and tag"));
}

// Tags that do not travel.
TEST(MessagesKeepOrder, ATagThatIsLostIsCaughtAndShrunkToOneMessage) {
  const Subject subject = changing([](Operation& operation) { operation.collective.tag = 0; });
  const Counterexample found = expect_caught(messages_keep_order(subject), message_order_law);
  EXPECT_THAT(found.text, ::testing::StartsWith("world 1, 1 message received"));
}

// A payload that is not the message's own.
TEST(MessagesKeepOrder, AMessageThatNoRankSentIsCaught) {
  const Subject subject = changing([](Operation& operation) {
    if (operation.collective.kind != OperationKind::send) return;
    auto* payload = reinterpret_cast<std::int32_t*>(operation.input.data());
    *payload += 100;
  });
  const Counterexample found =
      expect_caught(messages_keep_order(subject), message_order_law, "which no rank sent");
  EXPECT_THAT(found.text, ::testing::StartsWith("world 1, 1 message received"));
}

// The second message carries what the first has carried already.
TEST(MessagesKeepOrder, AMessageThatArrivesTwiceIsCaughtAndShrunkToTwoMessages) {
  const Subject subject = changing([](Operation& operation) {
    if (operation.collective.kind != OperationKind::send) return;
    auto* payload = reinterpret_cast<std::int32_t*>(operation.input.data());
    if (*payload == 1) *payload = 0;
  });
  const Counterexample found = expect_caught(messages_keep_order(subject), message_order_law,
                                             "receives message 0 out of order");
  EXPECT_THAT(found.text, ::testing::StartsWith("world 1, 2 messages received"));
}

TEST(MessagesKeepOrder, ASenderThatIsMisnamedIsCaught) {
  Subject subject;
  subject.wrap = [](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    class Misnaming final : public ForwardingGang {
     public:
      using ForwardingGang::ForwardingGang;

     protected:
      Work do_start(Operation& operation) override {
        const bool from_anyone = operation.collective.peer == any_rank;
        if (operation.collective.kind != OperationKind::recv || !from_anyone) {
          return ForwardingGang::do_start(operation);
        }
        class Done final : public WorkState {
         public:
          bool wait(Duration) override { return true; }
          bool test() override { return true; }
          Received received() const override { return {0, 0}; }
          std::size_t wait_any(std::span<WorkState* const>) override { return 0; }
          void dropped() noexcept override {}
        };
        ForwardingGang::do_start(operation).wait();
        return Work(std::make_shared<Done>());
      }
    };
    return std::make_shared<Misnaming>(std::move(gang));
  };
  const Counterexample found = expect_caught(messages_keep_order(subject), message_order_law);
  EXPECT_THAT(found.text, ::testing::HasSubstr("any rank"));
}

}  // namespace
}  // namespace gang::properties
