#include "harness/pipeline/message_plan.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/pipeline/schedule_timeline.h"
#include "harness/pipeline/stock_schedules.h"

namespace gang::harness {
namespace {

// "1F0 | sends gradient for 0B0 to rank 0 & receives ... | ...".
std::string text_of(const std::vector<PipelineAction>& actions) {
  std::string text;
  for (const PipelineAction& action : actions) {
    if (!text.empty()) text += " | ";
    if (const auto* pass = std::get_if<StagePass>(&action)) {
      text += to_string(*pass);
      continue;
    }
    std::string batch;
    for (const PipelineTransfer& transfer : std::get<std::vector<PipelineTransfer>>(action))
      batch += (batch.empty() ? "" : " & ") + to_string(transfer);
    text += batch;
  }
  return text;
}

TEST(MessagePlan, OneByOneReceivesBeforeAndSendsAfter) {
  const MessagePlan plan =
      plan_messages(make_schedule(ScheduleKind::one_f_one_b, {2, 1, 2}), SendForm::one_by_one);
  EXPECT_EQ(text_of(plan.by_rank[0]),
            "0F0 | sends activation for 1F0 to rank 1 | 0F1 | sends activation for 1F1 to rank 1 | "
            "receives gradient for 0B0 from rank 1 | 0B0 | receives gradient for 0B1 from rank 1 | "
            "0B1");
}

TEST(MessagePlan, BatchedSendsAndReceivesAtOnce) {
  const MessagePlan plan =
      plan_messages(make_schedule(ScheduleKind::one_f_one_b, {2, 1, 2}), SendForm::batched);
  EXPECT_EQ(text_of(plan.by_rank[1]),
            "receives activation for 1F0 from rank 0 | 1F0 | "
            "receives activation for 1F1 from rank 0 | 1B0 | sends gradient for 0B0 to rank 0 | "
            "1F1 | 1B1 | sends gradient for 0B1 to rank 0");
}

TEST(MessagePlan, EveryMessageIsSentAndReceivedOnce) {
  for (const SendForm form : {SendForm::one_by_one, SendForm::batched}) {
    const PipelineSizes sizes{3, 2, 6};
    const MessagePlan plan =
        plan_messages(make_schedule(ScheduleKind::interleaved_1f1b, sizes), form);
    int sends = 0;
    int receives = 0;
    for (const auto& actions : plan.by_rank) {
      for (const PipelineAction& action : actions) {
        const auto* transfers = std::get_if<std::vector<PipelineTransfer>>(&action);
        if (transfers == nullptr) continue;
        for (const PipelineTransfer& transfer : *transfers)
          ++(transfer.kind == OperationKind::send ? sends : receives);
      }
    }
    EXPECT_EQ(sends, 2 * (sizes.stages() - 1) * sizes.microbatches);
    EXPECT_EQ(receives, sends);
  }
}

TEST(MessagePlan, ABatchIsInTheOrderInWhichItsMessagesAreMade) {
  const PipelineSchedule schedule = make_schedule(ScheduleKind::interleaved_1f1b, {3, 2, 6});
  std::map<std::string, std::int64_t> made_at;
  for (const auto& passes : timeline_of(schedule).by_rank)
    for (const TimedPass& timed : passes)
      if (makes_message(timed.pass, schedule.sizes))
        made_at[to_string(made_by(timed.pass))] = timed.end;
  std::size_t longest = 0;
  for (const auto& actions : plan_messages(schedule, SendForm::batched).by_rank) {
    for (const PipelineAction& action : actions) {
      const auto* transfers = std::get_if<std::vector<PipelineTransfer>>(&action);
      if (transfers == nullptr) continue;
      longest = std::max(longest, transfers->size());
      EXPECT_TRUE(std::ranges::is_sorted(*transfers, {}, [&](const PipelineTransfer& transfer) {
        return made_at.at(to_string(transfer.message));
      })) << text_of({action});
    }
  }
  EXPECT_GE(longest, 3U);
}

TEST(MessagePlan, AStageOnTheSameRankNeedsNoMessage) {
  for (const SendForm form : {SendForm::one_by_one, SendForm::batched}) {
    const MessagePlan plan =
        plan_messages(make_schedule(ScheduleKind::interleaved_1f1b, {1, 2, 1}), form);
    EXPECT_EQ(text_of(plan.by_rank[0]), "0F0 | 1F0 | 1B0 | 0B0") << to_string(form);
  }
}

TEST(MessagePlan, OnlyInputGradientsTravel) {
  const PipelineSizes sizes{3, 1, 3};
  EXPECT_TRUE(makes_message({1, 0, Pass::backward_input}, sizes));
  EXPECT_FALSE(makes_message({1, 0, Pass::backward_weight}, sizes));
  EXPECT_FALSE(needs_message({1, 0, Pass::backward_weight}, sizes));
  EXPECT_FALSE(makes_message({0, 0, Pass::backward}, sizes));
  EXPECT_FALSE(makes_message({2, 0, Pass::forward}, sizes));
  EXPECT_EQ(made_by({1, 2, Pass::forward}), needed_by({2, 2, Pass::forward}));
  EXPECT_EQ(made_by({1, 2, Pass::backward_input}), needed_by({0, 2, Pass::backward}));
}

// An activation and a gradient may go from one rank to another for the same stage and microbatch.
TEST(MessagePlan, OneByOneEveryMessageHasATagOfItsOwn) {
  const PipelineSizes sizes{2, 3, 4};
  const MessagePlan plan =
      plan_messages(make_schedule(ScheduleKind::interleaved_1f1b, sizes), SendForm::one_by_one);
  std::map<int, std::string> message_of_tag;
  for (const auto& actions : plan.by_rank)
    for (const PipelineAction& action : actions)
      if (const auto* transfers = std::get_if<std::vector<PipelineTransfer>>(&action)) {
        const PipelineTransfer& transfer = transfers->front();
        const std::string message = to_string(transfer.message);
        EXPECT_EQ(message_of_tag.try_emplace(transfer.tag, message).first->second, message);
      }
  EXPECT_EQ(message_of_tag.size(), 2U * 5 * 4);
}

}  // namespace
}  // namespace gang::harness
