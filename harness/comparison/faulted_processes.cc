#include "harness/comparison/faulted_processes.h"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/backends/backend.h"
#include "harness/backends/gloo_backend.h"
#include "harness/run/fault_file.h"
#include "harness/text/suggestion.h"
#include "harness/text/version.h"
#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

using nlohmann::json;

constexpr Duration slack = std::chrono::seconds(1);

using Faults = std::span<const ProcessFault>;

bool has_fault(Faults faults, int rank, ProcessFaultKind kind) {
  return std::ranges::any_of(faults, [rank, kind](const ProcessFault& fault) {
    return fault.rank == rank && fault.kind == kind;
  });
}

bool is_ended_by(Faults faults, int rank) {
  return has_fault(faults, rank, ProcessFaultKind::kill) ||
         has_fault(faults, rank, ProcessFaultKind::exit);
}

bool throws_by(Faults faults, int rank) {
  return has_fault(faults, rank, ProcessFaultKind::exception);
}

bool are_delays(Faults faults) {
  return std::ranges::all_of(
      faults, [](const ProcessFault& fault) { return fault.kind == ProcessFaultKind::delay; });
}

std::vector<std::string> in_words(Faults faults) {
  std::vector<std::string> texts;
  for (const ProcessFault& fault : faults) texts.push_back(harness::to_string(fault));
  return texts;
}

// Whether a lost or late peer can cause such an error.
bool is_true_kind(GangErrorKind kind) {
  return kind != GangErrorKind::mismatch && kind != GangErrorKind::corrupt;
}

std::optional<std::string> problem_of_outputs(const RankOutcome& outcome,
                                              const std::vector<Output>& expected) {
  for (std::size_t i = 0; i < outcome.outputs.size(); ++i)
    if (i >= expected.size() || outcome.outputs[i] != expected[i])
      return fmt::format("output a wrong '{}'", outcome.outputs[i].name);
  if (!outcome.failure && outcome.outputs.size() < expected.size())
    return fmt::format("output {} of {} results", outcome.outputs.size(), expected.size());
  return std::nullopt;
}

std::optional<std::string> problem_of_failure(const RankOutcome::Failure& failure, Faults faults,
                                              int rank, Duration timeout) {
  if (!failure.kind) return failure.text;
  if (!is_true_kind(*failure.kind) || are_delays(faults))
    return fmt::format("got a false {}: {}", to_string(*failure.kind), failure.text);
  const bool was_stopped = has_fault(faults, rank, ProcessFaultKind::stop);
  if (!was_stopped && timeout < no_timeout - slack && failure.elapsed > timeout + slack)
    return fmt::format("got its error only after {}: {}", gang::to_string(failure.elapsed),
                       failure.text);
  return std::nullopt;
}

// Whether processes of a case are left over.
std::optional<std::string> problem_of_orphans() {
  int status = 0;
  if (::waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD) return std::nullopt;
  return "a process is left over";
}

// One program on processes, again and again.
class FaultedProcesses {
 public:
  FaultedProcesses(const Program& program, const RunSpecification& specification)
      : program_(program),
        parameters_(program.parameters, specification.parameters),
        seed_(specification.options.seed) {
    options_.world_size = specification.world_size.value_or(program.default_world_size);
    options_.seed = specification.options.seed;
    options_.timeout = specification.options.timeout;
    sim::validate(options_);
    if (program.validate) program.validate(options_.world_size, parameters_);
  }

  const sim::SimulationOptions& options() const noexcept { return options_; }

  // Once without faults, for the ranks' outputs and their numbers of operations. Returns why, if
  // that fails.
  std::optional<std::string> run_clean() {
    expected_ = run({});
    for (std::size_t rank = 0; rank < expected_.size(); ++rank) {
      operations_.push_back(expected_[rank].operations);
      if (expected_[rank].failure)
        return fmt::format("rank {}: {}", rank, expected_[rank].failure->text);
      if (expected_[rank].wrong_result)
        return fmt::format("rank {}: {}", rank, *expected_[rank].wrong_result);
    }
    return std::nullopt;
  }

  FaultedCase run_case(const ProcessFaultCases::Draw& draw, std::uint64_t index) {
    const FaultSpace space{operations_, options_.timeout / 4};
    ProcessFaultCases::Drawn drawn = draw(space, seed_, index);
    FaultedCase result{
        .index = index, .faults = in_words(drawn.faults), .left_out = std::move(drawn.left_out)};
    const auto validation = index % 2 == 0 ? CallValidation::off : CallValidation::on;
    const std::vector<RankOutcome> outcomes = run({drawn.faults, validation});
    for (std::size_t i = 0; i < outcomes.size(); ++i)
      judge(static_cast<int>(i), outcomes[i], drawn.faults, result);
    if (auto problem = problem_of_orphans()) result.problems.push_back(*std::move(problem));
    return result;
  }

 private:
  std::vector<RankOutcome> run(const GlooProcessOptions& how) {
    OutputRecorder recorder(options_.world_size, KeepOutputs::data);
    const RunContext context{.parameters = parameters_, .recorder = recorder, .seed = seed_};
    return run_gloo_processes({.program = program_, .context = context, .options = options_}, how);
  }

  void judge(int rank, const RankOutcome& outcome, Faults faults, FaultedCase& result) const {
    const std::vector<Output>& expected = expected_[static_cast<std::size_t>(rank)].outputs;
    const bool is_victim = std::ranges::any_of(
        faults, [rank](const ProcessFault& fault) { return fault.rank == rank; });
    const auto has_met_store = [rank](const ProcessFault& fault) {
      return fault.rank == rank && fault.store && fault.store->begins == Duration(0);
    };
    const bool is_gone = outcome.failure && !outcome.failure->kind && is_ended_by(faults, rank);
    result.fired += outcome.struck + (is_gone ? 1 : 0) +
                    static_cast<std::uint64_t>(std::ranges::count_if(faults, has_met_store));
    if (auto problem = problem_of(rank, outcome, expected, faults, options_.timeout))
      result.problems.push_back(fmt::format("rank {} {}", rank, *problem));
    if (is_ended_by(faults, rank) || throws_by(faults, rank)) return;
    const auto& failure = outcome.failure;
    ++result.ends[!failure        ? "right result"
                  : failure->kind ? std::string(to_string(*failure->kind))
                                  : "no typed error"];
    if (!failure || is_victim || failure->elapsed <= result.slowest) return;
    result.slowest = failure->elapsed;
    result.slowest_error = failure->text;
  }

  const Program& program_;
  ParameterValues parameters_;
  std::uint64_t seed_;
  sim::SimulationOptions options_;
  std::vector<RankOutcome> expected_;
  std::vector<std::uint64_t> operations_;
};

struct Totals {
  std::size_t fired = 0;
  std::size_t faults = 0;
  std::map<std::string, int> left_out;
  std::map<std::string, int> ends;
  int errors = 0;
  int ranks = 0;
  Duration slowest{0};
  std::string slowest_error;
};

Totals totals_of(const FaultedProcessesReport& report) {
  Totals totals;
  for (const FaultedCase& one : report.cases) {
    totals.fired += one.fired;
    totals.faults += one.faults.size();
    for (const auto& [kind, count] : one.left_out) totals.left_out[kind] += count;
    if (one.slowest > totals.slowest) {
      totals.slowest = one.slowest;
      totals.slowest_error = fmt::format("case {}: {}", one.index, one.slowest_error);
    }
    for (const auto& [end, count] : one.ends) {
      totals.ends[end] += count;
      totals.ranks += count;
      if (end != "right result") totals.errors += count;
    }
  }
  return totals;
}

// "2 crash (at a message), 1 partition (of a link)".
std::string list_of(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name);
  return text;
}

// "aborted 3, peer_failed 54".
std::string text_of(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text.empty() ? "none" : text;
}

}  // namespace

ProcessFaultCases::Draw process_faults_called(const std::string& text) {
  using Drawn = ProcessFaultCases::Drawn;
  if (const auto kind = parse_name(process_fault_names, text)) {
    return [kind](const FaultSpace& space, std::uint64_t seed, std::uint64_t index) {
      return Drawn{{draw_process_fault(*kind, space, seed, index)}};
    };
  }
  std::vector<std::string> accepted;
  for (const auto& entry : process_fault_names) accepted.emplace_back(entry.name);
  std::ranges::copy(sim::fault_preset_names(), std::back_inserter(accepted));
  const bool is_plan = text.ends_with(".toml") || text.find('=') != std::string::npos;
  if (!is_plan && std::ranges::find(accepted, text) == accepted.end())
    throw InvalidArgument(
        fmt::format("--faults {}, or a .toml file", unknown_name(text, accepted)));
  return
      [plan = load_faults(text)](const FaultSpace& space, std::uint64_t seed, std::uint64_t index) {
        const int world_size = static_cast<int>(space.operations.size());
        Drawn drawn;
        drawn.faults = process_faults_of(sim::draw(plan, seed + index, world_size), drawn.left_out);
        return drawn;
      };
}

bool FaultedProcessesReport::holds() const noexcept {
  return !clean_failure &&
         std::ranges::all_of(cases, [](const FaultedCase& one) { return one.problems.empty(); });
}

std::optional<std::string> problem_of(int rank, const RankOutcome& outcome,
                                      const std::vector<Output>& expected,
                                      std::span<const ProcessFault> faults, Duration timeout) {
  if (is_ended_by(faults, rank) && outcome.failure && !outcome.failure->kind) return std::nullopt;
  if (auto problem = problem_of_outputs(outcome, expected)) return problem;
  if (outcome.wrong_result) return "found its result wrong: " + *outcome.wrong_result;
  if (!outcome.failure) return std::nullopt;
  if (outcome.failure->is_injected) return std::nullopt;
  return problem_of_failure(*outcome.failure, faults, rank, timeout);
}

FaultedProcessesReport run_faulted_processes(
    const Program& program, const RunSpecification& specification, const ProcessFaultCases& cases,
    const std::function<void(const FaultedCase&)>& progress) {
  require_backend(BackendKind::gloo);
  FaultedProcesses processes(program, specification);
  FaultedProcessesReport report{.program = program.name,
                                .world_size = processes.options().world_size,
                                .seed = specification.options.seed,
                                .timeout = specification.options.timeout,
                                .faults = cases.name};
  report.clean_failure = processes.run_clean();
  if (report.clean_failure) return report;
  for (std::uint64_t i = 0; i < cases.count; ++i) {
    report.cases.push_back(processes.run_case(cases.draw, cases.first + i));
    if (progress) progress(report.cases.back());
  }
  return report;
}

std::string to_string(const FaultedProcessesReport& report) {
  std::string text =
      fmt::format("{}  {} on gloo, world {}, {}, {} cases, seed {}\n\n",
                  report.holds() ? "CONTAINED" : "BROKEN", report.program, report.world_size,
                  report.faults, report.cases.size(), report.seed);
  if (report.clean_failure) {
    text += sim::wrapped("It fails without any fault: " + *report.clean_failure, "  ");
  } else {
    Totals totals = totals_of(report);
    totals.ends.erase("right result");
    text += fmt::format("  Fired      {} of {} faults\n", totals.fired, totals.faults);
    if (!totals.left_out.empty())
      text += sim::wrapped(
          "Left out   faults that processes cannot have: " + list_of(totals.left_out), "  ");
    text += fmt::format("  Ranks      {} survivors: {} right results, {} errors\n", totals.ranks,
                        totals.ranks - totals.errors, totals.errors);
    text += fmt::format("  Errors     {}\n", text_of(totals.ends));
    text += fmt::format("  Slowest    {:.2f} s after its operation began (timeout {})\n",
                        to_seconds(totals.slowest), gang::to_string(report.timeout));
    if (totals.slowest > report.timeout / 2)
      text += sim::wrapped(totals.slowest_error, "             ");
  }
  for (const FaultedCase& one : report.cases) {
    if (one.problems.empty()) continue;
    text += fmt::format("\n  ✗  case {}: {}\n", one.index, fmt::join(one.faults, "; "));
    for (const std::string& problem : one.problems) text += sim::wrapped(problem, "     ");
  }
  return text + fmt::format("\n  Reproduce  {}\n", report.reproduce);
}

json to_json(const FaultedProcessesReport& report) {
  json cases = json::array();
  for (const FaultedCase& one : report.cases) {
    cases.push_back({{"case", one.index},
                     {"faults", one.faults},
                     {"fired", one.fired},
                     {"left_out", one.left_out},
                     {"ends", one.ends},
                     {"slowest_ns", one.slowest.count()},
                     {"slowest_error", one.slowest_error},
                     {"problems", one.problems}});
  }
  return {{"format", faulted_processes_format},
          {"version", faulted_processes_version},
          {"gangsim", version()},
          {"shard", harness::to_json(report.shard)},
          {"planned_cases", report.planned_cases},
          {"holds", report.holds()},
          {"program", report.program},
          {"backend", "gloo"},
          {"world", report.world_size},
          {"seed", report.seed},
          {"timeout_ns", report.timeout.count()},
          {"faults", report.faults},
          {"clean_failure", report.clean_failure ? json(*report.clean_failure) : json()},
          {"cases", std::move(cases)},
          {"reproduce", report.reproduce}};
}

}  // namespace gang::harness
