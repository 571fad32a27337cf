#include "harness/pipeline/plan_progress.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/pipeline/stock_schedules.h"

namespace gang::harness {
namespace {

std::vector<std::string> lines_of(const PlanProgress& progress) {
  std::vector<std::string> lines;
  for (const StuckRank& stuck : progress.counterexample) lines.push_back(to_string(stuck));
  return lines;
}

MessagePlan plan_of(ScheduleKind kind, const PipelineSizes& sizes, SendForm form) {
  return plan_messages(make_schedule(kind, sizes), form);
}

std::vector<PipelineTransfer>& transfers_of(PipelineAction& action) {
  return std::get<std::vector<PipelineTransfer>>(action);
}

TEST(PlanProgress, OneForwardOneBackwardHangsOneByOneAndSaysWhere) {
  const MessagePlan plan = plan_of(ScheduleKind::one_f_one_b, {4, 1, 8}, SendForm::one_by_one);
  const PlanProgress progress = check_progress(plan, Sending::rendezvous);
  EXPECT_FALSE(progress.completes());
  EXPECT_THAT(lines_of(progress), testing::ElementsAre("rank 2 sends activation for 3F1 to rank 3",
                                                       "rank 3 sends gradient for 2B0 to rank 2"));
  EXPECT_TRUE(check_progress(plan, Sending::buffered).completes());
}

TEST(PlanProgress, GPipeNeedsNoBuffers) {
  EXPECT_TRUE(check_progress(plan_of(ScheduleKind::gpipe, {4, 1, 8}, SendForm::one_by_one),
                             Sending::rendezvous)
                  .completes());
}

TEST(PlanProgress, BatchesNeverHang) {
  for (const ScheduleKind kind : all_schedule_kinds) {
    const int per_rank = kind == ScheduleKind::interleaved_1f1b ? 3 : 1;
    for (int ranks = 1; ranks <= 6; ++ranks) {
      for (const Sending sending : {Sending::rendezvous, Sending::buffered}) {
        const PlanProgress progress =
            check_progress(plan_of(kind, {ranks, per_rank, 3 * ranks}, SendForm::batched), sending);
        EXPECT_TRUE(progress.completes())
            << to_string(kind) << " on " << ranks << ": " << progress.complaint;
      }
    }
  }
}

TEST(PlanProgress, AMessageThatIsNeverSentHangsItsReceiver) {
  MessagePlan plan = plan_of(ScheduleKind::gpipe, {2, 1, 2}, SendForm::one_by_one);
  plan.by_rank[1].pop_back();  // the last gradient
  EXPECT_THAT(lines_of(check_progress(plan, Sending::rendezvous)),
              testing::ElementsAre("rank 0 receives gradient for 0B1 from rank 1"));
}

TEST(PlanProgress, AMessageThatNoRankReceivesIsNamed) {
  MessagePlan plan = plan_of(ScheduleKind::gpipe, {2, 1, 2}, SendForm::one_by_one);
  const auto last_receive = plan.by_rank[0].end() - 2;
  plan.by_rank[0].erase(last_receive, plan.by_rank[0].end());
  EXPECT_EQ(check_progress(plan, Sending::buffered).complaint,
            "No rank receives the gradient for 0B1 that rank 1 sends to rank 0.");
}

TEST(PlanProgress, AMessageTakenForAnotherIsNamed) {
  MessagePlan plan = plan_of(ScheduleKind::gpipe, {2, 1, 2}, SendForm::batched);
  PipelineTransfer& first = transfers_of(plan.by_rank[1][0]).front();
  PipelineTransfer& second = transfers_of(plan.by_rank[1][2]).front();
  std::swap(first.message, second.message);
  EXPECT_EQ(check_progress(plan, Sending::rendezvous).complaint,
            "Rank 1 expects the activation for 1F1 but receives the activation for 1F0.");
}

TEST(PlanProgress, APassBeforeItsInputIsNamed) {
  MessagePlan plan = plan_of(ScheduleKind::gpipe, {2, 1, 2}, SendForm::batched);
  std::swap(plan.by_rank[1][0], plan.by_rank[1][1]);
  EXPECT_EQ(check_progress(plan, Sending::rendezvous).complaint,
            "Rank 1 computes 1F0 before the activation for 1F0 has arrived.");
}

TEST(PlanProgress, TheInputOfAnotherMicrobatchIsNone) {
  MessagePlan plan = plan_of(ScheduleKind::gpipe, {2, 1, 2}, SendForm::batched);
  std::swap(plan.by_rank[1][2], plan.by_rank[1][3]);
  EXPECT_EQ(check_progress(plan, Sending::rendezvous).complaint,
            "Rank 1 computes 1F1 before the activation for 1F1 has arrived.");
}

TEST(PlanProgress, AnActivationIsNoGradient) {
  MessagePlan plan = plan_of(ScheduleKind::gpipe, {3, 1, 3}, SendForm::one_by_one);
  const PipelineMessage gradient{Payload::gradient, 1, 0};
  const auto receive = std::ranges::find_if(plan.by_rank[1], [&](PipelineAction& action) {
    return action.index() == 1 && transfers_of(action).front().message == gradient;
  });
  ASSERT_NE(receive, plan.by_rank[1].end());
  std::iter_swap(receive, std::next(receive));
  EXPECT_EQ(check_progress(plan, Sending::buffered).complaint,
            "Rank 1 computes 1B0 before the gradient for 1B0 has arrived.");
}

// Rank 1 takes the second message first.
TEST(PlanProgress, MessagesWithDifferentTagsDoNotWaitForEachOther) {
  MessagePlan plan = plan_of(ScheduleKind::gpipe, {2, 1, 2}, SendForm::one_by_one);
  std::swap(plan.by_rank[1][0], plan.by_rank[1][2]);
  std::swap(plan.by_rank[1][1], plan.by_rank[1][3]);
  EXPECT_EQ(check_progress(plan, Sending::buffered).complaint, "");
  EXPECT_TRUE(check_progress(plan, Sending::buffered).completes());
  EXPECT_FALSE(check_progress(plan, Sending::rendezvous).completes());
}

}  // namespace
}  // namespace gang::harness
