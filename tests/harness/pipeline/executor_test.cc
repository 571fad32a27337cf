#include "harness/pipeline/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/forwarding_gang.h"
#include "harness/pipeline/stock_schedules.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

// Stage s adds s + 1 going forward and multiplies by s + 2 going backward, so any stage that is
// skipped or run twice shows. The gradient of the last stage is the activation it computed.
class Counting final : public StageWork {
 public:
  explicit Counting(const PipelineSizes& sizes) : sizes_(sizes) {}

  // Stages of different widths, so none can be mistaken for another.
  StageBoundary boundary_before(int stage) const override { return {DataType::i64, stage}; }

  void compute(const StagePass& pass, const PassTensors& tensors) override {
    if (pass.pass == Pass::forward) {
      const std::int64_t value =
          pass.stage == 0 ? 100 * pass.microbatch : first_of(tensors.input, pass.stage);
      activations.push_back(value);
      fill(tensors.output, value + pass.stage + 1);
      if (pass.stage == sizes_.stages() - 1) outputs.push_back(value + pass.stage + 1);
    } else if (pass.pass != Pass::backward_weight) {
      const bool is_last = pass.stage == sizes_.stages() - 1;
      const std::int64_t gradient = is_last ? 1 : first_of(tensors.input, pass.stage + 1);
      fill(tensors.output, gradient * (pass.stage + 2));
      if (pass.stage == 0) gradients.push_back(gradient * (pass.stage + 2));
    }
  }

  std::vector<std::int64_t> activations, outputs, gradients;

 private:
  static std::int64_t first_of(const TensorView& tensor, std::int64_t count) {
    EXPECT_EQ(tensor.count(), count);
    return reinterpret_cast<const std::int64_t*>(tensor.data())[0];
  }
  static void fill(const TensorView& tensor, std::int64_t value) {
    auto* elements = reinterpret_cast<std::int64_t*>(tensor.data());
    for (std::int64_t i = 0; i < tensor.count(); ++i) elements[i] = value;
  }

  PipelineSizes sizes_;
};

struct Case {
  ScheduleKind kind;
  PipelineSizes sizes;
};

RunResult run_case(const Case& wanted, SendForm form, RunSpecification specification) {
  const MessagePlan plan = plan_messages(make_schedule(wanted.kind, wanted.sizes), form);
  const Program program{"pipeline", "", [&plan](Rank& rank) {
                          Counting work(plan.sizes);
                          run_pipeline(*rank.root(), plan, work);
                          rank.output("activations", work.activations);
                          std::int64_t sum = 0;
                          std::int64_t product = 1;
                          for (int stage = 0; stage < plan.sizes.stages(); ++stage) {
                            sum += stage + 1;
                            product *= stage + 2;
                          }
                          const auto m = static_cast<std::size_t>(plan.sizes.microbatches);
                          if (rank.rank() == rank.world_size() - 1) {
                            ASSERT_EQ(work.outputs.size(), m);
                            for (std::size_t i = 0; i < m; ++i)
                              EXPECT_EQ(work.outputs[i], static_cast<std::int64_t>(100 * i) + sum);
                          }
                          if (rank.rank() == 0) {
                            EXPECT_EQ(work.gradients, std::vector<std::int64_t>(m, product));
                          }
                        }};
  specification.program = "pipeline";
  specification.world_size = wanted.sizes.ranks;
  return run(program, specification);
}

const std::vector<Case> cases = {{ScheduleKind::gpipe, {3, 1, 5}},
                                 {ScheduleKind::one_f_one_b, {4, 1, 6}},
                                 {ScheduleKind::interleaved_1f1b, {2, 3, 4}},
                                 {ScheduleKind::interleaved_1f1b, {3, 2, 6}},
                                 {ScheduleKind::interleaved_1f1b, {1, 2, 3}},
                                 {ScheduleKind::zero_bubble_h1, {4, 1, 7}}};

TEST(Executor, TakesEveryMicrobatchThroughEveryStageWithoutBuffers) {
  for (const Case& wanted : cases) {
    for (const ScheduleChoice schedule : {ScheduleChoice::round_robin, ScheduleChoice::random}) {
      const RunResult result = run_case(wanted, SendForm::batched, {.schedule = schedule});
      EXPECT_TRUE(result.holds()) << to_string(result);
    }
  }
}

TEST(Executor, GivesTheSameOnTheAlgorithmsOfGloo) {
  const RunResult result =
      run_case(cases[3], SendForm::batched, {.backend = BackendKind::sim_gloo});
  EXPECT_TRUE(result.holds()) << to_string(result);
}

TEST(Executor, OneByOneWorksIfSendsAreBuffered) {
  for (const Case& wanted : cases) {
    const RunResult result = run_case(wanted, SendForm::one_by_one,
                                      {.options = {.sends = sim::SendMode::buffered(1 << 20)}});
    EXPECT_TRUE(result.holds()) << to_string(result);
  }
}

TEST(Executor, OneByOneHangsIfSendsWait) {
  const RunResult result = run_case(cases[1], SendForm::one_by_one, {});
  EXPECT_EQ(result.report.outcome, sim::Outcome::deadlock);
  ASSERT_EQ(result.report.findings.size(), 1U);
  EXPECT_EQ(result.report.findings[0].id, sim::finding_id::buffering_hazard);
}

TEST(Executor, RefusesAGangOfAnotherSize) {
  const MessagePlan plan =
      plan_messages(make_schedule(ScheduleKind::gpipe, {2, 1, 2}), SendForm::batched);
  const Program program{"pipeline", "", [&plan](Rank& rank) {
                          Counting work(plan.sizes);
                          EXPECT_THAT([&] { run_pipeline(*rank.root(), plan, work); },
                                      testing::ThrowsMessage<InvalidArgument>(testing::HasSubstr(
                                          "the plan is for 2 ranks, but root[0-2] has 3")));
                        }};
  EXPECT_TRUE(run(program, {.program = "pipeline", .world_size = 3}).holds());
}

std::size_t most_held_on_rank_0(const Case& wanted, SendForm form) {
  const MessagePlan plan = plan_messages(make_schedule(wanted.kind, wanted.sizes), form);
  std::size_t most = 0;
  const Program program{"pipeline", "", [&](Rank& rank) {
                          Counting work(plan.sizes);
                          const std::size_t held = run_pipeline(*rank.root(), plan, work);
                          if (rank.rank() == 0) most = held;
                        }};
  const RunResult result = run(program, {.program = "pipeline",
                                         .world_size = wanted.sizes.ranks,
                                         .options = {.sends = sim::SendMode::unlimited()}});
  EXPECT_TRUE(result.holds()) << to_string(result);
  return most;
}

TEST(Executor, ReturnsTheMostMessagesThatARankHeldAtOnce) {
  // A message goes as soon as it is made, and is used up as soon as it has come.
  EXPECT_EQ(most_held_on_rank_0({ScheduleKind::gpipe, {2, 1, 3}}, SendForm::one_by_one), 1U);
  // 1B0 makes a gradient from the one that it needs.
  EXPECT_EQ(most_held_on_rank_0({ScheduleKind::interleaved_1f1b, {1, 3, 1}}, SendForm::batched),
            2U);
  // 0F1 comes between 1B0 and 0B0.
  EXPECT_EQ(most_held_on_rank_0({ScheduleKind::interleaved_1f1b, {1, 2, 3}}, SendForm::batched),
            2U);
}

// Notes where in the program messages were sent and received.
class CallSites final : public ForwardingGang {
 public:
  CallSites(std::shared_ptr<Gang> inner, std::vector<std::string>& places)
      : ForwardingGang(std::move(inner)), places_(places) {}

 protected:
  void after(const Operation& operation) override {
    places_.push_back(fmt::format("{} at {}", to_string(operation.collective.kind),
                                  to_string(location_of(operation.collective.call_site))));
  }

 private:
  std::vector<std::string>& places_;
};

TEST(Executor, MessagesAreOfTheCallThatRunsThePipeline) {
  for (const SendForm form : {SendForm::one_by_one, SendForm::batched}) {
    const MessagePlan plan = plan_messages(make_schedule(ScheduleKind::gpipe, {2, 1, 2}), form);
    std::vector<std::vector<std::string>> places(2);
    const Program program{"pipeline", "", [&](Rank& rank) {
                            const auto of_rank = static_cast<std::size_t>(rank.rank());
                            CallSites gang(rank.root(), places[of_rank]);
                            Counting work(plan.sizes);
                            run_pipeline(gang, plan, work, CallSite::at("train.cc", 7));
                          }};
    EXPECT_TRUE(run(program, {.program = "pipeline", .world_size = 2}).holds());
    for (const auto& of_rank : places) {
      if (form == SendForm::batched) {
        EXPECT_THAT(of_rank, testing::Each("batch at train.cc:7"));
      } else {
        EXPECT_THAT(of_rank,
                    testing::UnorderedElementsAre("send at train.cc:7", "send at train.cc:7",
                                                  "recv at train.cc:7", "recv at train.cc:7"));
      }
      EXPECT_FALSE(of_rank.empty());
    }
  }
}

TEST(Executor, AGradientIsUsedUpByTheFirstHalfOfABackwardPass) {
  EXPECT_EQ(most_held_on_rank_0({ScheduleKind::zero_bubble_h1, {2, 1, 4}}, SendForm::one_by_one),
            1U);
}

}  // namespace
}  // namespace gang::harness
