// Pipeline schedules on which two stages disagree.
#include "harness/pipeline/executor.h"
#include "harness/pipeline/stock_schedules.h"
#include "harness/programs/faulty/all_faulty_programs.h"
#include "harness/programs/faulty/faulty_program.h"
#include "sim/report/report.h"

namespace gang::harness {
namespace {

constexpr int microbatches = 4;
constexpr int forward_tag = 0;
constexpr int backward_tag = microbatches;

struct Stage {
  Gang& gang;
  int rank;
  bool is_first;
  bool is_last;
  std::vector<float> activation = std::vector<float>(4, 1.0F);
  std::vector<float> gradient = std::vector<float>(4, 1.0F);
};

Stage stage_of(Rank& rank) {
  return {.gang = *rank.root(),
          .rank = rank.rank(),
          .is_first = rank.rank() == 0,
          .is_last = rank.rank() == rank.world_size() - 1};
}

// One forward, one backward: both neighbours send first, one an activation, the other a gradient.
void both_stages_send(Rank& rank, const PlantedBug& bug) {
  if (rank.rank() > 1) return;
  Stage stage = stage_of(rank);
  if (rank.rank() == 0) stage.gang.send(view(stage.activation), 1);
  if (rank.rank() == 1) stage.gang.recv(view(stage.activation), 0);
  for (int i = 1; i < microbatches; ++i) {
    const int peer = 1 - rank.rank();
    auto& sent = rank.rank() == 0 ? stage.activation : stage.gradient;
    auto& received = rank.rank() == 0 ? stage.gradient : stage.activation;
    if (bug.is_planted()) {
      stage.gang.send(view(sent), peer, 0, {}, bug.here());
      stage.gang.recv(view(received), peer);
    } else {
      const PointToPoint both[] = {{OperationKind::send, view(sent), peer, 0},
                                   {OperationKind::recv, view(received), peer, 0}};
      stage.gang.batch(both);
    }
  }
}

// The last stage expects one microbatch fewer.
void missing_microbatch(Rank& rank, const PlantedBug& bug) {
  Stage stage = stage_of(rank);
  const int count = stage.is_last && bug.is_planted() ? microbatches - 1 : microbatches;
  for (int i = 0; i < count; ++i) {
    if (!stage.is_first) stage.gang.recv(view(stage.activation), stage.rank - 1, i);
    if (!stage.is_last) stage.gang.send(view(stage.activation), stage.rank + 1, i, {}, bug.here());
  }
}

// The last stage runs backward from its newest microbatch, the others from their oldest.
void backward_order(Rank& rank, const PlantedBug& bug) {
  Stage stage = stage_of(rank);
  for (int i = 0; i < microbatches; ++i) {
    if (!stage.is_first) stage.gang.recv(view(stage.activation), stage.rank - 1, forward_tag + i);
    if (!stage.is_last) stage.gang.send(view(stage.activation), stage.rank + 1, forward_tag + i);
  }
  for (int i = 0; i < microbatches; ++i) {
    const bool is_reversed = bug.is_planted() && stage.is_last;
    const int tag = backward_tag + (is_reversed ? microbatches - 1 - i : i);
    if (!stage.is_last) stage.gang.recv(view(stage.gradient), stage.rank + 1, tag, {}, bug.here());
    if (!stage.is_first) stage.gang.send(view(stage.gradient), stage.rank - 1, tag);
  }
}

// A stage reduces its gradients before it sends its last backward message.
void reduce_too_early(Rank& rank, const PlantedBug& bug) {
  Stage stage = stage_of(rank);
  if (!stage.is_last) stage.gang.recv(view(stage.gradient), stage.rank + 1, 0, {}, bug.here());
  const bool is_early = bug.is_planted() && stage.is_last;
  if (!is_early && !stage.is_first) stage.gang.send(view(stage.gradient), stage.rank - 1);
  stage.gang.all_reduce(view(stage.gradient), ReduceOperation::mean, {}, bug.here());
  if (is_early) stage.gang.send(view(stage.gradient), stage.rank - 1);
}

// Passes that only exchange messages and compute nothing.
class EmptyPasses final : public StageWork {
 public:
  StageBoundary boundary_before(int) const override { return {DataType::f32, 4}; }
  void compute(const StagePass&, const PassTensors&) override {}
};

void run_schedule(Rank& rank, ScheduleKind kind, SendForm form, CallSite call_site) {
  const PipelineSizes sizes{
      .ranks = rank.world_size(), .stages_per_rank = 1, .microbatches = 2 * rank.world_size()};
  EmptyPasses passes;
  run_pipeline(*rank.root(), plan_messages(make_schedule(kind, sizes), form), passes, call_site);
}

// 1F1B with a separate call for each message: a stage sends an activation forward while the next
// stage sends a gradient back.
void blocking_1f1b(Rank& rank, const PlantedBug& bug) {
  const SendForm form = bug.is_planted() ? SendForm::one_by_one : SendForm::batched;
  run_schedule(rank, ScheduleKind::one_f_one_b, form, bug.here());
}

// The last stage was started with a different pipeline schedule.
void other_schedule(Rank& rank, const PlantedBug& bug) {
  const bool is_other = bug.is_planted() && rank.rank() == rank.world_size() - 1;
  run_schedule(rank, is_other ? ScheduleKind::gpipe : ScheduleKind::one_f_one_b, SendForm::batched,
               bug.here());
}

}  // namespace

std::vector<FaultyProgram> pipelines() {
  namespace id = sim::finding_id;
  return {
      faulty("both_stages_send", "forward and backward send first", both_stages_send,
             id::buffering_hazard, {0, 1}, {.seen_in = "pytorch#172668", .default_world_size = 2}),
      faulty("missing_microbatch", "a stage expects one fewer", missing_microbatch,
             id::participant_missing, {3}, {.seen_in = "torchtitan#775"}),
      faulty("backward_order", "gradients in reverse order", backward_order, id::buffering_hazard,
             {0, 1}, {.default_world_size = 2}),
      faulty("reduce_too_early", "a reduction before a send", reduce_too_early,
             id::participant_missing, {3}, {.fewest_ranks = 3}),
      faulty("blocking_1f1b", "1F1B, messages one by one", blocking_1f1b, id::buffering_hazard,
             {2, 3}),
      faulty("other_schedule", "one stage runs GPipe, not 1F1B", other_schedule,
             id::point_to_point_cycle, {2, 3})};
}

}  // namespace gang::harness
