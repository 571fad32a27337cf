#include "properties/errors_reach_everyone.h"

#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "properties/program_run.h"
#include "properties/simpler_cases.h"

namespace gang::properties {
namespace {

constexpr Failure all_failures[] = {Failure::throws, Failure::aborts};

// How far a rank came: the steps that succeeded for it, and the error that ended it.
struct RankProgress {
  std::size_t steps_done = 0;
  std::optional<GangErrorKind> error;
};

// On blocking collectives of the root gang, for which it is easy to say which rank gets what error.
void run_failing_rank(const FailureCase& failure, const ProgramMemory& memory, Gang& root,
                      const Subject& subject, RankProgress& progress, Image& image) {
  for (std::size_t i = 0; i < failure.program.steps.size(); ++i) {
    if (root.rank() == failure.failing_rank() && i == failure.failing_step()) {
      if (failure.failure == Failure::throws) throw std::runtime_error("planted");
      root.abort();
    }
    try {
      run_step(memory, i, root.rank(), root, subject, image);
    } catch (const GangError& error) {
      progress.error = error.kind();
      return;
    }
    ++progress.steps_done;
  }
}

// Whether a rank may complete all of these steps without the rank that failed.
bool may_succeed(const FailureCase& failure, std::size_t steps_done, const Subject& subject) {
  if (failure.program.world == 1) return true;
  for (std::size_t i = failure.failing_step(); i < steps_done; ++i) {
    const OperationKind kind = failure.program.steps[i].kind;
    const bool is_broadcast =
        kind == OperationKind::broadcast || kind == OperationKind::broadcast_objects;
    if (subject.completes_together || !is_broadcast) return false;
  }
  return true;
}

std::string check_survivor(const FailureCase& failure, int rank, const RankProgress& progress,
                           const Subject& subject) {
  if (!may_succeed(failure, progress.steps_done, subject))
    return fmt::format("step {} succeeds on rank {}, although rank {} never reached it",
                       progress.steps_done - 1, rank, failure.failing_rank());
  const GangErrorKind expected =
      failure.failure == Failure::throws ? GangErrorKind::peer_failed : GangErrorKind::aborted;
  const bool has_done_all = progress.steps_done == failure.program.steps.size();
  if (!progress.error && has_done_all && !subject.completes_together) return {};
  if (!progress.error) return fmt::format("rank {} ends without an error", rank);
  if (*progress.error != expected)
    return fmt::format("rank {} gets {}, expected {}", rank, to_string(*progress.error),
                       to_string(expected));
  return {};
}

std::string check_report(const FailureCase& failure, const sim::Report& report) {
  const bool throws = failure.failure == Failure::throws;
  const sim::Outcome expected = throws ? sim::Outcome::failed : sim::Outcome::completed;
  if (report.outcome != expected)
    return fmt::format("the run ended as '{}', expected '{}'", to_string(report.outcome),
                       to_string(expected));
  if (!throws) return {};
  if (report.findings.size() != 1 || report.findings.front().id != sim::finding_id::rank_failed ||
      report.findings.front().ranks != std::vector{failure.failing_rank()}) {
    return fmt::format("expected one rank_failed finding on rank {}", failure.failing_rank());
  }
  return {};
}

Verdict judge_failure(const FailureCase& failure, const Subject& subject) {
  const ProgramMemory memory(failure.program);
  Image image = memory.initial_image();
  std::vector<RankProgress> progress(static_cast<std::size_t>(failure.program.world));
  const sim::Report report =
      subject.simulate(options_of(failure.program), [&](sim::SimulatedRank& rank) {
        run_failing_rank(failure, memory, *subject.wrapped(rank.root()), subject,
                         progress[static_cast<std::size_t>(rank.rank())], image);
      });
  std::string complaint = check_report(failure, report);
  for (int rank = 0; rank < failure.program.world && complaint.empty(); ++rank) {
    const bool has_thrown = failure.failure == Failure::throws && rank == failure.failing_rank();
    if (has_thrown) continue;
    complaint = check_survivor(failure, rank, progress[static_cast<std::size_t>(rank)], subject);
  }
  return Verdict::holds_unless(std::move(complaint));
}

}  // namespace

FailureCase generate_failure(Draw& draw) {
  using enum OperationKind;
  FailureCase failure;
  failure.program =
      generate_program(draw, {.most_gangs = 1,
                              .most_steps = 6,
                              .kinds = {all_reduce, reduce_scatter, all_gather, all_gather_to_list,
                                        all_to_all, broadcast, broadcast_objects, barrier}});
  failure.failure = draw.any_of(all_failures);
  failure.rank = draw.between(0, failure.program.world - 1);
  failure.step = draw.between(0, static_cast<int>(failure.program.steps.size()) - 1);
  return failure;
}

std::string to_text(const FailureCase& failure) {
  return fmt::format(
      "{}\nrank {} {} before step {}", to_text(failure.program), failure.failing_rank(),
      failure.failure == Failure::throws ? "throws" : "aborts the gang", failure.failing_step());
}

std::vector<FailureCase> shrinks(const FailureCase& failure) {
  SimplerCases simpler(failure);
  for (const GangProgram& program : shrinks(failure.program))
    simpler.add([&](FailureCase& one) { one.program = program; });
  for (int rank = 0; rank < failure.rank; ++rank) simpler.lower(&FailureCase::rank, rank);
  for (int step = 0; step < failure.step; ++step) simpler.lower(&FailureCase::step, step);
  return simpler.take();
}

std::vector<Property> errors_reach_everyone(const Subject& subject) {
  return {to_property(Law<FailureCase>{
      .suite = "errors_reach_everyone",
      .name = "no_survivor_hangs_or_is_told_success",
      .description =
          "An exception or an abort on one rank ends every member's operations on the gang.",
      .generate = generate_failure,
      .verdict = [subject](const FailureCase& failure) {
        return judge_failure(failure, subject);
      }})};
}

}  // namespace gang::properties
