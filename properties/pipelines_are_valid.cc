#include "properties/pipelines_are_valid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/pipeline/executor.h"
#include "harness/run/runner.h"
#include "properties/generators/pipeline_case.h"

namespace gang::properties {
namespace {

using harness::MessagePlan;
using harness::Pass;
using harness::PipelineMessage;
using harness::PipelineSchedule;
using harness::PlanProgress;
using harness::SendForm;
using harness::Sending;
using harness::StagePass;

Verdict verdict_of(const std::vector<std::string>& complaints) {
  return Verdict::holds_unless(fmt::format("{}", fmt::join(complaints, " ")));
}

Law<StockSchedule> stock_law(std::string name, std::string description) {
  return {.suite = "pipelines_are_valid",
          .name = std::move(name),
          .description = std::move(description),
          .enumerate = [](int max_world) { return all_stock_schedules(std::min(max_world, 8)); }};
}

Property stock_schedules_are_right(const PipelineSubject& subject) {
  auto law = stock_law("stock_schedules_are_right",
                       "Every microbatch passes every stage once, in order, under every schedule.");
  law.verdict = [subject](const StockSchedule& stock) {
    return verdict_of(subject.check(subject.make(stock.kind, stock.sizes)));
  };
  return to_property(law);
}

Property stock_schedules_keep_their_bounds(const PipelineSubject& subject) {
  auto law = stock_law("stock_schedules_keep_their_bounds",
                       "Bubbles match their formula, and stored activations stay within theirs.");
  law.verdict = [subject](const StockSchedule& stock) {
    return verdict_of(
        check_bounds(subject.make(stock.kind, stock.sizes), bounds_of(stock.kind, stock.sizes)));
  };
  return to_property(law);
}

std::string text_of(const PlanProgress& progress) {
  if (progress.completes()) return "it completes";
  if (!progress.complaint.empty()) return progress.complaint;
  std::string text = "it hangs:";
  for (const harness::StuckRank& stuck : progress.counterexample)
    text += " " + to_string(stuck) + ";";
  return text;
}

Verdict completes(const PipelineSubject& subject, const PipelineSchedule& schedule) {
  const MessagePlan plan = subject.plan(schedule, SendForm::batched);
  for (const Sending sending : {Sending::rendezvous, Sending::buffered}) {
    const PlanProgress progress = subject.progress(plan, sending);
    if (!progress.completes()) return Verdict::violated(text_of(progress));
  }
  return Verdict::holds();
}

Property stock_batches_never_hang(const PipelineSubject& subject) {
  auto law = stock_law("stock_batches_never_hang",
                       "Batched, every schedule completes even if no send is buffered.");
  law.verdict = [subject](const StockSchedule& stock) {
    return completes(subject, subject.make(stock.kind, stock.sizes));
  };
  return to_property(law);
}

template <typename Case>
Law<Case> random_law(std::string name, std::string description, std::uint64_t cost) {
  return {.suite = "pipelines_are_valid",
          .name = std::move(name),
          .description = std::move(description),
          .cost = cost};
}

Property any_batches_never_hang(const PipelineSubject& subject) {
  auto law = random_law<RandomSchedule>(
      "any_batches_never_hang",
      "Batched, every order of passes that can run completes even if no send is buffered.", 10);
  law.generate = generate_schedule;
  law.verdict = [subject](const RandomSchedule& one) {
    const std::vector<std::string> complaints = subject.check(one.schedule);
    return complaints.empty() ? completes(subject, one.schedule) : verdict_of(complaints);
  };
  return to_property(law);
}

Property mistakes_are_found(const PipelineSubject& subject) {
  auto law = random_law<SpoiltSchedule>(
      "mistakes_are_found", "A missing, repeated, misplaced or early pass is reported.", 10);
  law.generate = generate_spoilt_schedule;
  law.verdict = [subject](const SpoiltSchedule& spoilt) {
    return subject.check(spoilt.schedule).empty()
               ? Verdict::violated("the check does not report that " + spoilt.mistake)
               : Verdict::holds();
  };
  return to_property(law);
}

// Messages that say which they are, so that a mix-up is noticed.
class LabelledMessages final : public harness::StageWork {
 public:
  LabelledMessages(const MessagePlan& plan, harness::Rank& rank) : plan_(plan), rank_(rank) {}

  harness::StageBoundary boundary_before(int) const override { return {DataType::i64, 1}; }

  void compute(const StagePass& pass, const harness::PassTensors& tensors) override {
    if (needs_message(pass, plan_.sizes)) {
      const std::int64_t found = *reinterpret_cast<const std::int64_t*>(tensors.input.data());
      if (found != number_of(needed_by(pass)))
        rank_.wrong_result(to_string(pass) + " got the wrong message.");
    }
    if (makes_message(pass, plan_.sizes))
      *reinterpret_cast<std::int64_t*>(tensors.output.data()) = number_of(made_by(pass));
  }

 private:
  std::int64_t number_of(const PipelineMessage& message) const {
    return 2 * (std::int64_t{message.to_stage} * plan_.sizes.microbatches + message.microbatch) +
           static_cast<std::int64_t>(message.payload);
  }

  const MessagePlan& plan_;
  harness::Rank& rank_;
};

harness::RunResult run_plan(const MessagePlan& plan, Sending sending, std::uint64_t seed) {
  const harness::Program program{"pipeline", "", [&plan](harness::Rank& rank) {
                                   LabelledMessages work(plan, rank);
                                   run_pipeline(*rank.root(), plan, work);
                                 }};
  harness::RunSpecification specification{.program = "pipeline",
                                          .world_size = plan.sizes.ranks,
                                          .schedule = harness::ScheduleChoice::random,
                                          .options = {.seed = seed}};
  if (sending == Sending::buffered) specification.options.sends = sim::SendMode::buffered(1 << 20);
  return run(program, specification);
}

Verdict runs_as_predicted(const PipelineSubject& subject, const RandomSchedule& one) {
  for (const SendForm form : {SendForm::one_by_one, SendForm::batched}) {
    const MessagePlan plan = subject.plan(one.schedule, form);
    for (const Sending sending : {Sending::rendezvous, Sending::buffered}) {
      const PlanProgress progress = subject.progress(plan, sending);
      const harness::RunResult result = run_plan(plan, sending, 1 + one.schedule.by_rank[0].size());
      if (progress.completes() == result.holds()) continue;
      return Verdict::violated(
                 fmt::format("{} with {} sends, the prediction is: {}; but: {}", to_string(form),
                             sending == Sending::rendezvous ? "rendezvous" : "buffered",
                             text_of(progress), to_string(result.report)))
          .shown_by(result.report);
    }
  }
  return Verdict::holds();
}

Property plans_run_as_predicted(const PipelineSubject& subject) {
  auto law = random_law<RandomSchedule>(
      "plans_run_as_predicted",
      "On gangs, a plan hangs where predicted and brings every message to its pass.", 100);
  law.generate = generate_schedule;
  law.verdict = [subject](const RandomSchedule& one) { return runs_as_predicted(subject, one); };
  return to_property(law);
}

}  // namespace

std::vector<Property> pipelines_are_valid(const PipelineSubject& subject) {
  return {stock_schedules_are_right(subject), stock_schedules_keep_their_bounds(subject),
          stock_batches_never_hang(subject),  any_batches_never_hang(subject),
          mistakes_are_found(subject),        plans_run_as_predicted(subject)};
}

}  // namespace gang::properties
