#include "harness/run/fault_check.h"

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "gang/error.h"
#include "sim/injection/fault_injector.h"

namespace gang::harness {
namespace {

struct RankEnd {
  enum class Kind : std::uint8_t { returned, gang_error, injected, other };
  Kind kind = Kind::returned;
  GangErrorKind error = GangErrorKind::aborted;
  std::string text;
  std::string trouble;  // with the new gang of the survivors
};

// Longer than anything that a run waits for: only ranks that never come are left out.
constexpr Duration liveness_grace = std::chrono::hours(24 * 365);

std::string try_to_go_on(Rank& rank) {
  rank.stop_faults();
  const std::shared_ptr<Gang> all = rank.second_root();
  return all ? trouble_of_survivors(*all) : "";
}

bool is_true_kind(GangErrorKind kind, const sim::Report& report) {
  switch (kind) {
    case GangErrorKind::timeout:
    case GangErrorKind::peer_failed:
    case GangErrorKind::aborted:
    case GangErrorKind::connection:
      return true;
    case GangErrorKind::mismatch:
    case GangErrorKind::corrupt:
      return corrupted_silently(report);
  }
  return false;
}

std::string uncontained_end(const std::map<int, RankEnd>& ends, const sim::Report& report) {
  for (const auto& [rank, end] : ends) {
    if (end.kind == RankEnd::Kind::other && !corrupted_silently(report))
      return fmt::format("rank {} ended with an error other than a GangError: {}", rank, end.text);
    if (end.kind == RankEnd::Kind::gang_error && !is_true_kind(end.error, report))
      return fmt::format("rank {} got a false {}: {}", rank, to_string(end.error), end.text);
    if (!end.trouble.empty())
      return fmt::format("rank {} could not continue with the surviving ranks: {}", rank,
                         end.trouble);
  }
  return "";
}

std::string uncontained_outcome(const sim::Report& report) {
  if (report.outcome != sim::Outcome::completed && report.outcome != sim::Outcome::failed)
    return fmt::format("the outcome is {}", to_string(report.outcome));
  for (const sim::Finding& finding : report.findings) {
    const bool is_typed_error =
        finding.id == sim::finding_id::rank_failed || finding.id == sim::finding_id::timed_out;
    // With corrupt data, any result is due to the plan.
    if (report.faults.empty() || (!is_typed_error && !corrupted_silently(report)))
      return fmt::format("the finding {}", finding.id);
  }
  return "";
}

// The first output that has another value than the one of its name in the clean run.
std::optional<std::string> other_output(const std::vector<Output>& outputs,
                                        const std::vector<Output>& clean) {
  std::map<std::string_view, std::vector<const Output*>> expected;
  for (const Output& output : clean) expected[output.name].push_back(&output);
  std::map<std::string_view, std::size_t> seen;
  for (const Output& output : outputs) {
    const auto same = expected.find(output.name);
    const std::size_t index = seen[output.name]++;
    if (same == expected.end() || index >= same->second.size()) continue;
    if (!(output == *same->second[index])) return output.name;
  }
  return std::nullopt;
}

void compare_outputs(const Outputs& clean, RunResult& result) {
  if (corrupted_silently(result.report)) return;
  for (std::size_t rank = 0; rank < result.outputs.by_rank.size(); ++rank) {
    const auto name = other_output(result.outputs.by_rank[rank], clean.by_rank[rank]);
    if (!name) continue;
    result.report.findings.push_back(
        {.id = std::string{sim::finding_id::wrong_result},
         .ranks = {static_cast<int>(rank)},
         .message =
             fmt::format("On rank {} the output '{}' differs from the fault-free run, and no "
                         "rank got an error.",
                         rank, *name)});
    return;
  }
}

}  // namespace

struct FaultWatch::Ends {
  std::mutex mutex;
  std::map<int, RankEnd> by_rank;  // but for ranks whose program returned, and could continue

  // A restarted rank ends again.
  void note(int rank, RankEnd end) {
    const std::lock_guard lock{mutex};
    if (end.kind == RankEnd::Kind::returned && end.trouble.empty())
      by_rank.erase(rank);
    else
      by_rank.insert_or_assign(rank, std::move(end));
  }
};

FaultWatch::FaultWatch(const Program& program)
    : ends_(std::make_shared<Ends>()), watched_(program) {
  watched_.run = [ends = ends_, run = program.run](Rank& rank) {
    RankEnd end;
    std::exception_ptr error;
    try {
      run(rank);
    } catch (const GangError& failure) {
      end = {.kind = RankEnd::Kind::gang_error, .error = failure.kind(), .text = failure.what()};
      error = std::current_exception();
    } catch (const sim::InjectedException& failure) {
      end = {.kind = RankEnd::Kind::injected, .text = failure.what()};
      error = std::current_exception();
    } catch (const std::exception& failure) {
      end = {.kind = RankEnd::Kind::other, .text = failure.what()};
      error = std::current_exception();
    }
    const bool goes_on =
        end.kind == RankEnd::Kind::returned || end.kind == RankEnd::Kind::gang_error;
    if (goes_on && rank.faults_have_fired() && rank.incarnation() == 0)
      end.trouble = try_to_go_on(rank);
    ends->note(rank.rank(), std::move(end));
    if (error) std::rethrow_exception(error);
  };
}

FaultWatch::~FaultWatch() = default;

void FaultWatch::judge(const std::function<const Outputs&()>& clean, RunResult& result) const {
  const bool is_over = result.report.outcome == sim::Outcome::completed ||
                       result.report.outcome == sim::Outcome::failed;
  if (clean && is_over && !result.report.faults.empty()) compare_outputs(clean(), result);
  result.uncontained = uncontained_outcome(result.report);
  if (result.uncontained.empty() && !result.report.faults.empty())
    result.uncontained = uncontained_end(ends_->by_rank, result.report);
}

std::function<const Outputs&()> clean_outputs(const Program& program,
                                              const RunSpecification& specification) {
  return [&program, plain = specification,
          outputs = std::make_shared<std::optional<Outputs>>()]() mutable -> const Outputs& {
    plain.faults.reset();
    if (!*outputs)
      *outputs = run(program, plain, {.outputs = KeepOutputs::data, .settles = false}).outputs;
    return **outputs;
  };
}

std::string trouble_of_survivors(Gang& all) {
  try {
    const auto survivors = all.shrink({.name = "survivors", .grace = liveness_grace});
    std::int32_t members = 1;
    survivors->all_reduce(view_of(members), ReduceOperation::sum);
    if (members == survivors->size()) return "";
    return fmt::format("{} of {} members took part", members, survivors->size());
  } catch (const Error& error) {
    return error.what();
  }
}

bool corrupted_silently(const sim::Report& report) {
  return std::ranges::any_of(report.faults, [&report](const sim::FiredFault& fired) {
    switch (report.fault_plan->faults[fired.fault].kind) {
      case sim::FaultKind::corrupt_contribution:
      case sim::FaultKind::corrupt_result:
      case sim::FaultKind::corrupt_message:
      case sim::FaultKind::drop_message:
        return true;
      default:
        return false;
    }
  });
}

}  // namespace gang::harness
