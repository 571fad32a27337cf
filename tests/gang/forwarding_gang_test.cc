#include "gang/forwarding_gang.h"

#include <gtest/gtest.h>

#include "gang/fake_gang.h"
#include "tests/gang/capturing_gang.h"
#include "tests/gang/scripted_work.h"

namespace gang {
namespace {

using test::CapturingGang;

// Records what passes through; refuses barriers on request.
class NotingGang final : public ForwardingGang {
 public:
  NotingGang(std::shared_ptr<Gang> inner, std::shared_ptr<std::vector<std::string>> notes)
      : ForwardingGang(std::move(inner)), notes_(std::move(notes)) {}

  bool refuses = false;

 protected:
  void before(const Operation& operation) override {
    notes_->push_back("before " + to_string(operation.collective));
    if (refuses) throw NotSupported("refused");
  }
  void after(const Operation& operation) override {
    notes_->push_back("after " + to_string(operation.collective));
  }
  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override {
    return std::make_shared<NotingGang>(std::move(child), notes_);
  }

 private:
  std::shared_ptr<std::vector<std::string>> notes_;
};

class ForwardingGangTest : public testing::Test {
 protected:
  std::shared_ptr<CapturingGang> inner_ = std::make_shared<CapturingGang>(4, 2);
  std::shared_ptr<std::vector<std::string>> notes_ = std::make_shared<std::vector<std::string>>();
  std::shared_ptr<NotingGang> gang_ = std::make_shared<NotingGang>(inner_, notes_);
};

TEST_F(ForwardingGangTest, LooksLikeTheInnerGang) {
  EXPECT_EQ(gang_->rank(), 2);
  EXPECT_EQ(&gang_->info(), &inner_->info());
  EXPECT_EQ(&gang_->inner(), inner_.get());
}

TEST_F(ForwardingGangTest, BothFormsReachTheInnerGangBetweenTheHooks) {
  float value = 0;
  gang_->broadcast(view_of(value), 1, {.label = "weights"});
  const auto state = test::pending_work();
  inner_->work = state;
  Work work = gang_->start_broadcast(view_of(value), 1);
  EXPECT_FALSE(work.test());
  work.wait();
  EXPECT_EQ(inner_->sent.size(), 2u);
  EXPECT_TRUE(inner_->sent[0].collective().blocking);
  EXPECT_FALSE(inner_->sent[1].collective().blocking);
  EXPECT_EQ(inner_->sent[0].label, "weights");
  EXPECT_EQ(*notes_, (std::vector<std::string>{"before broadcast #0 f32[] from rank 1 \"weights\"",
                                               "after broadcast #0 f32[] from rank 1 \"weights\"",
                                               "before broadcast #0 f32[] from rank 1",
                                               "after broadcast #0 f32[] from rank 1"}));
}

TEST_F(ForwardingGangTest, AReceiveReturnsItsSource) {
  const auto state = test::pending_work();
  state->got = {.source_rank = 3, .tag = 1};
  inner_->work = state;
  float value = 0;
  EXPECT_EQ(gang_->recv(view_of(value)).source_rank, 3);
}

TEST_F(ForwardingGangTest, WhatTheHookRefusesDoesNotReachTheInnerGang) {
  gang_->refuses = true;
  EXPECT_THROW(gang_->barrier(), NotSupported);
  EXPECT_THROW(gang_->start_barrier(), NotSupported);
  EXPECT_TRUE(inner_->sent.empty());
  EXPECT_EQ(notes_->size(), 2u);
}

TEST_F(ForwardingGangTest, AfterIsNotCalledWhenTheInnerGangThrows) {
  inner_->work = test::failing_work("broken");
  EXPECT_THROW(gang_->barrier(), GangError);
  EXPECT_EQ(notes_->size(), 1u);
}

TEST_F(ForwardingGangTest, ChildrenAreWrapped) {
  const auto child = std::make_shared<CapturingGang>(2);
  inner_->reaction = [&child](Operation& operation) { *operation.extras->created = child; };
  const auto created = gang_->create_gang(std::vector{2, 3});
  const auto split = gang_->split({.color = 0});
  notes_->clear();
  created->barrier();
  split->barrier();
  EXPECT_EQ(child->sent.size(), 2u);
  EXPECT_EQ(notes_->size(), 4u);
}

TEST_F(ForwardingGangTest, ANullChildStaysNull) {
  EXPECT_EQ(gang_->create_gang(std::vector{0, 1}), nullptr);
  EXPECT_EQ(gang_->split({}), nullptr);
}

TEST_F(ForwardingGangTest, ClosingAndAbortingReachTheInnerGang) {
  gang_->abort();
  gang_->close();
  gang_->close();
  EXPECT_EQ(inner_->aborts, 1);
  EXPECT_EQ(inner_->closes, 1);
  EXPECT_TRUE(inner_->is_closed());
}

TEST_F(ForwardingGangTest, ClosingTheInnerGangClosesIt) {
  inner_->close();
  EXPECT_EQ(test::message_of<InvalidOperation>([this] { gang_->barrier(); }),
            "the gang that root[0-3] forwards to is closed");
  EXPECT_THROW(gang_->start_barrier(), InvalidOperation);
  EXPECT_TRUE(inner_->sent.empty());
}

TEST_F(ForwardingGangTest, ClosingTheInnerGangClosesTheInnerChildren) {
  const auto child = std::make_shared<CapturingGang>(2);
  inner_->reaction = [&child](Operation& operation) { *operation.extras->created = child; };
  const auto wrapped = gang_->create_gang(std::vector{2, 3});
  inner_->close();
  EXPECT_TRUE(child->is_closed());
  EXPECT_THROW(wrapped->barrier(), InvalidOperation);
}

TEST_F(ForwardingGangTest, AnotherGangIsDecoratedAsTheWholeStackIs) {
  const auto outer_notes = std::make_shared<std::vector<std::string>>();
  NotingGang outer(gang_, outer_notes);
  const auto other = outer.decorated(std::make_shared<CapturingGang>(2));
  other->barrier();
  EXPECT_EQ(notes_->size(), 2u);
  EXPECT_EQ(outer_notes->size(), 2u);
}

TEST(ForwardingGang, WhatTheInnerGangShrinksToIsWrapped) {
  const auto notes = std::make_shared<std::vector<std::string>>();
  const auto gang = std::make_shared<NotingGang>(make_fake_gang({.size = 4}), notes);
  gang->shrink({.name = "rest"})->barrier();
  EXPECT_EQ(*notes, (std::vector<std::string>{"before barrier #0", "after barrier #0"}));
}

TEST(ForwardingGang, ForwardsUnchangedWithoutHooks) {
  const auto gang = std::make_shared<ForwardingGang>(make_fake_gang({.size = 4}));
  float value = 2;
  gang->all_reduce(view_of(value), ReduceOperation::sum);
  EXPECT_EQ(value, 8);
  EXPECT_EQ(gang->create_gang(std::vector{0, 1})->size(), 2);
}

}  // namespace
}  // namespace gang
