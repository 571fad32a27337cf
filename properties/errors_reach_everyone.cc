#include "properties/errors_reach_everyone.h"

#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "properties/program_run.h"

namespace gang::properties {
namespace {

constexpr Failure all_failures[] = {Failure::throws, Failure::aborts};

// How far a rank came: the steps that it was told succeeded, and the error that ended it.
struct Progress {
  std::size_t steps_done = 0;
  std::optional<GangErrorKind> error;
};

// Root-gang programs of blocking collectives, so that who is told what is simple to say.
void run_failing_rank(const FailureCase& failure, const ProgramMemory& memory, Gang& root,
                      const Subject& subject, Progress& progress, Image& image) {
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

std::string check_survivor(const FailureCase& failure, int rank, const Progress& progress,
                           const Subject& subject) {
  if (!may_succeed(failure, progress.steps_done, subject)) {
    return fmt::format("rank {} is told success in step {}, which rank {} never reached", rank,
                       progress.steps_done - 1, failure.failing_rank());
  }
  const GangErrorKind expected =
      failure.failure == Failure::throws ? GangErrorKind::peer_failed : GangErrorKind::aborted;
  const bool has_done_all = progress.steps_done == failure.program.steps.size();
  if (!progress.error && has_done_all && !subject.completes_together) return {};
  if (!progress.error) return fmt::format("rank {} ends without being told", rank);
  if (*progress.error != expected) {
    return fmt::format("rank {} is told {}, expected {}", rank, to_string(*progress.error),
                       to_string(expected));
  }
  return {};
}

std::string check_report(const FailureCase& failure, const sim::Report& report) {
  const bool throws = failure.failure == Failure::throws;
  const sim::Outcome expected = throws ? sim::Outcome::failed : sim::Outcome::completed;
  if (report.outcome != expected) {
    return fmt::format("the run ended as '{}', expected '{}'", to_string(report.outcome),
                       to_string(expected));
  }
  if (!throws) return {};
  if (report.findings.size() != 1 || report.findings.front().id != sim::finding_id::rank_failed ||
      report.findings.front().ranks != std::vector{failure.failing_rank()}) {
    return "the finding is not one rank_failed that names the rank";
  }
  return {};
}

Verdict judge(const FailureCase& failure, const Subject& subject) {
  const ProgramMemory memory(failure.program);
  Image image = memory.initial_image();
  std::vector<Progress> progress(static_cast<std::size_t>(failure.program.world));
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
  return complaint.empty() ? Verdict::holds() : Verdict::violated(std::move(complaint));
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
  std::vector<FailureCase> simpler;
  for (GangProgram& program : shrinks(failure.program)) {
    simpler.push_back({std::move(program), failure.failure, failure.rank, failure.step});
  }
  for (int rank = 0; rank < failure.rank; ++rank) {
    simpler.push_back({failure.program, failure.failure, rank, failure.step});
  }
  for (int step = 0; step < failure.step; ++step) {
    simpler.push_back({failure.program, failure.failure, failure.rank, step});
  }
  return simpler;
}

std::vector<Property> errors_reach_everyone(const Subject& subject) {
  Law<FailureCase> law;
  law.suite = "errors_reach_everyone";
  law.name = "no_survivor_hangs_or_is_told_success";
  law.description =
      "An exception or an abort on one rank ends every member's operations on the gang.";
  law.generate = generate_failure;
  law.verdict = [subject](const FailureCase& failure) { return judge(failure, subject); };
  return {to_property(law)};
}

}  // namespace gang::properties
