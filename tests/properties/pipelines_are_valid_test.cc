#include "properties/pipelines_are_valid.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

using harness::MessagePlan;
using harness::PipelineSchedule;
using harness::PipelineSizes;
using harness::PipelineTransfer;
using harness::ScheduleKind;
using harness::SendForm;

// Swaps the first two messages that one rank receives from one peer.
void cross_receives(MessagePlan& plan) {
  for (auto& actions : plan.by_rank) {
    PipelineTransfer* first = nullptr;
    for (harness::PipelineAction& action : actions) {
      auto* transfers = std::get_if<std::vector<PipelineTransfer>>(&action);
      if (transfers == nullptr) continue;
      for (PipelineTransfer& transfer : *transfers) {
        if (transfer.kind != OperationKind::recv) continue;
        if (first != nullptr && first->peer == transfer.peer) {
          std::swap(first->message, transfer.message);
          return;
        }
        first = &transfer;
      }
    }
  }
}

TEST(PipelinesAreValid, Hold) { expect_hold(pipelines_are_valid(), 3000); }

TEST(PipelinesAreValid, APassTooEarlyIsCaughtInTheSmallestPipeline) {
  PipelineSubject subject;
  subject.make = [](ScheduleKind kind, const PipelineSizes& sizes) {
    PipelineSchedule schedule = harness::make_schedule(kind, sizes);
    if (sizes.ranks > 1) std::swap(schedule.by_rank[1][0], schedule.by_rank[1].back());
    return schedule;
  };
  const Counterexample found =
      expect_caught(pipelines_are_valid(subject), "stock_schedules_are_right", "which it needs");
  EXPECT_EQ(found.text, "gpipe, 2 ranks, 1 stage per rank, 2 microbatches");
}

TEST(PipelinesAreValid, AScheduleThatStoresTooMuchIsCaught) {
  PipelineSubject subject;
  subject.make = [](ScheduleKind kind, const PipelineSizes& sizes) {
    return harness::make_schedule(kind == ScheduleKind::one_f_one_b ? ScheduleKind::gpipe : kind,
                                  sizes);
  };
  const Counterexample found = expect_caught(pipelines_are_valid(subject),
                                             "stock_schedules_keep_their_bounds", "the bound is 1");
  EXPECT_THAT(found.text, ::testing::StartsWith("1f1b, 1 rank, 1 stage per rank, 2 microbatches"));
}

TEST(PipelinesAreValid, APlanThatIsNotBatchedIsCaught) {
  PipelineSubject subject;
  subject.plan = [](const PipelineSchedule& schedule, SendForm) {
    return harness::plan_messages(schedule, SendForm::one_by_one);
  };
  const Counterexample found =
      expect_caught(pipelines_are_valid(subject), "stock_batches_never_hang", "it hangs: rank 0");
  EXPECT_EQ(found.text, "1f1b, 2 ranks, 1 stage per rank, 2 microbatches");
  expect_caught(pipelines_are_valid(subject), "any_batches_never_hang", "it hangs: rank");
}

TEST(PipelinesAreValid, ACheckThatOverlooksIsCaught) {
  PipelineSubject subject;
  subject.check = [](const PipelineSchedule&) { return std::vector<std::string>{}; };
  expect_caught(pipelines_are_valid(subject), "mistakes_are_found",
                "the check does not report that");
}

TEST(PipelinesAreValid, AProofThatOverlooksAHangIsCaught) {
  PipelineSubject subject;
  subject.progress = [](const MessagePlan&, harness::Sending) { return harness::PlanProgress{}; };
  const Counterexample found = expect_caught(pipelines_are_valid(subject), "plans_run_as_predicted",
                                             "one_by_one with rendezvous sends");
  EXPECT_NE(found.run, nullptr);
}

TEST(PipelinesAreValid, MessagesThatAreMixedUpAreCaught) {
  PipelineSubject subject;
  subject.plan = [](const PipelineSchedule& schedule, SendForm form) {
    MessagePlan plan = harness::plan_messages(schedule, form);
    if (form == SendForm::batched) cross_receives(plan);
    return plan;
  };
  subject.progress = [](const MessagePlan& plan, harness::Sending sending) {
    if (plan.form == SendForm::batched) return harness::PlanProgress{};
    return harness::check_progress(plan, sending);
  };
  expect_caught(pipelines_are_valid(subject), "plans_run_as_predicted",
                "batched with rendezvous sends");
}

}  // namespace
}  // namespace gang::properties
