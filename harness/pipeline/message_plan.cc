#include "harness/pipeline/message_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "harness/pipeline/schedule_timeline.h"

namespace gang::harness {
namespace {

int unique_tag(const PipelineMessage& message, const PipelineSizes& sizes) {
  return 2 * (message.to_stage * sizes.microbatches + message.microbatch) +
         static_cast<int>(message.payload);
}

int sending_stage(const PipelineMessage& message) {
  return message.payload == Payload::activation ? message.to_stage - 1 : message.to_stage + 1;
}

PipelineTransfer sending(const PipelineMessage& message, const PipelineSizes& sizes, int tag) {
  return {OperationKind::send, sizes.rank_of(message.to_stage), tag, message};
}

PipelineTransfer receiving(const PipelineMessage& message, const PipelineSizes& sizes, int tag) {
  return {OperationKind::recv, sizes.rank_of(sending_stage(message)), tag, message};
}

std::vector<PipelineAction> one_by_one(const std::vector<StagePass>& passes,
                                       const PipelineSizes& sizes) {
  using Transfers = std::vector<PipelineTransfer>;
  std::vector<PipelineAction> actions;
  for (const StagePass& pass : passes) {
    if (sizes.ranks > 1 && needs_message(pass, sizes)) {
      const PipelineMessage message = needed_by(pass);
      actions.emplace_back(Transfers{receiving(message, sizes, unique_tag(message, sizes))});
    }
    actions.emplace_back(pass);
    if (sizes.ranks > 1 && makes_message(pass, sizes)) {
      const PipelineMessage message = made_by(pass);
      actions.emplace_back(Transfers{sending(message, sizes, unique_tag(message, sizes))});
    }
  }
  return actions;
}

// A transfer, and the time at which its message is ready.
struct TimedTransfer {
  std::int64_t made_at = 0;
  PipelineTransfer transfer;
};

// The transfers of each rank before its n-th pass, [rank][n], including those after its last pass.
using Gaps = std::vector<std::vector<std::vector<TimedTransfer>>>;

Gaps empty_gaps(const ScheduleTimeline& timeline) {
  Gaps gaps;
  for (const auto& passes : timeline.by_rank) gaps.emplace_back(passes.size() + 1);
  return gaps;
}

// The first pass that starts at `time` or later.
std::size_t first_from(const std::vector<TimedPass>& passes, std::int64_t time) {
  const auto found = std::ranges::lower_bound(passes, time, {}, &TimedPass::start);
  return static_cast<std::size_t>(found - passes.begin());
}

Gaps transfers_in_gaps(const ScheduleTimeline& timeline, const PipelineSizes& sizes) {
  Gaps gaps = empty_gaps(timeline);
  for (std::size_t rank = 0; rank < timeline.by_rank.size(); ++rank) {
    for (std::size_t i = 0; i < timeline.by_rank[rank].size(); ++i) {
      const TimedPass& timed = timeline.by_rank[rank][i];
      if (!makes_message(timed.pass, sizes)) continue;
      const PipelineMessage message = made_by(timed.pass);
      gaps[rank][i + 1].push_back({timed.end, sending(message, sizes, 0)});
      const auto receiver = static_cast<std::size_t>(sizes.rank_of(message.to_stage));
      const std::size_t place = first_from(timeline.by_rank[receiver], timed.end);
      gaps[receiver][place].push_back({timed.end, receiving(message, sizes, 0)});
    }
  }
  return gaps;
}

std::vector<PipelineTransfer> in_order(std::vector<TimedTransfer> timed) {
  std::ranges::stable_sort(timed, {}, &TimedTransfer::made_at);
  std::vector<PipelineTransfer> transfers;
  transfers.reserve(timed.size());
  for (const TimedTransfer& one : timed) transfers.push_back(one.transfer);
  return transfers;
}

std::vector<std::vector<PipelineAction>> batched(const PipelineSchedule& schedule) {
  const ScheduleTimeline timeline = timeline_of(schedule);
  Gaps gaps =
      schedule.sizes.ranks > 1 ? transfers_in_gaps(timeline, schedule.sizes) : empty_gaps(timeline);
  std::vector<std::vector<PipelineAction>> by_rank(gaps.size());
  for (std::size_t rank = 0; rank < gaps.size(); ++rank) {
    for (std::size_t i = 0; i < gaps[rank].size(); ++i) {
      if (!gaps[rank][i].empty()) by_rank[rank].emplace_back(in_order(std::move(gaps[rank][i])));
      if (i < schedule.by_rank[rank].size()) by_rank[rank].emplace_back(schedule.by_rank[rank][i]);
    }
  }
  return by_rank;
}

}  // namespace

std::string to_string(const PipelineMessage& message) {
  const bool is_activation = message.payload == Payload::activation;
  return fmt::format("{} for {}{}{}", is_activation ? "activation" : "gradient", message.to_stage,
                     is_activation ? 'F' : 'B', message.microbatch);
}

std::string to_string(const PipelineTransfer& transfer) {
  const bool sends = transfer.kind == OperationKind::send;
  return fmt::format("{} {} {} rank {}", sends ? "sends" : "receives", to_string(transfer.message),
                     sends ? "to" : "from", transfer.peer);
}

std::string_view to_string(SendForm form) noexcept {
  return form == SendForm::batched ? "batched" : "one_by_one";
}

bool needs_message(const StagePass& pass, const PipelineSizes& sizes) noexcept {
  if (pass.pass == Pass::forward) return pass.stage > 0;
  return pass.pass != Pass::backward_weight && pass.stage < sizes.stages() - 1;
}

bool makes_message(const StagePass& pass, const PipelineSizes& sizes) noexcept {
  if (pass.pass == Pass::forward) return pass.stage < sizes.stages() - 1;
  return pass.pass != Pass::backward_weight && pass.stage > 0;
}

PipelineMessage needed_by(const StagePass& pass) noexcept {
  return {pass.pass == Pass::forward ? Payload::activation : Payload::gradient, pass.stage,
          pass.microbatch};
}

PipelineMessage made_by(const StagePass& pass) noexcept {
  const bool is_forward = pass.pass == Pass::forward;
  return {is_forward ? Payload::activation : Payload::gradient,
          is_forward ? pass.stage + 1 : pass.stage - 1, pass.microbatch};
}

MessagePlan plan_messages(const PipelineSchedule& schedule, SendForm form) {
  MessagePlan plan{.sizes = schedule.sizes, .form = form, .by_rank = {}};
  if (form == SendForm::batched) {
    plan.by_rank = batched(schedule);
    return plan;
  }
  for (const std::vector<StagePass>& passes : schedule.by_rank)
    plan.by_rank.push_back(one_by_one(passes, schedule.sizes));
  return plan;
}

}  // namespace gang::harness
