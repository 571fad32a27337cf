#include "harness/comparison/conformance.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "gang/gloo/gloo_gang.h"
#include "gang/recording/flight_recorder.h"
#include "gang/root_gang.h"
#include "gang/validating_gang.h"
#include "harness/backends/nccl_backend.h"
#include "harness/backends/rank_process.h"
#include "harness/comparison/agreement_report.h"
#include "harness/comparison/case_verdict_json.h"
#include "harness/comparison/faulted_processes.h"
#include "harness/run/runner.h"
#include "harness/text/source_tree.h"
#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

using nlohmann::json;

// The part of one process.
class Conformance {
 public:
  Conformance(const std::vector<ConformanceCase>& cases, BackendKind backend,
              const Environment& environment, std::shared_ptr<Store> store)
      : cases_(cases),
        is_nccl_(backend == BackendKind::nccl),
        environment_(environment),
        store_(std::move(store)) {}

  // For gangs of this process. Throws InvalidArgument if it does not reach the others.
  void connect() {
    if (environment_.world_size > 1 && !is_nccl_)
      connector_ = make_job_connector(environment_, store_, runtime_);
  }

  // Every rank must do the same as rank 0; if one does not, every rank reports it.
  void agree_on_cases() {
    json what = json::array();
    for (const ConformanceCase& one : cases_)
      what.push_back({{"specification", to_json(one.specification)},
                      {"fingerprint", fingerprint(one.program)},
                      {"fault", one.fault ? harness::to_string(*one.fault) : ""},
                      {"fault_index", one.fault_index}});
    store_->set_text(cases_key(environment_.rank), what.dump());
    std::string agreed;
    for (int rank = 0; rank < environment_.world_size; ++rank) {
      const std::string theirs = store_->get_text(cases_key(rank), longest_timeout());
      if (rank == 0) agreed = theirs;
      if (theirs == agreed) continue;
      throw InvalidArgument(fmt::format(
          "rank {} runs other cases than rank 0, or another version; programs, parameters, seed "
          "and timeout must be the same on every rank",
          rank));
    }
  }

  std::vector<CaseVerdict> run_all() {
    std::vector<CaseVerdict> verdicts;
    for (std::size_t index = 0; index < cases_.size(); ++index) verdicts.push_back(run_case(index));
    return verdicts;
  }

  // The verdict of all ranks on each case.
  std::vector<CaseVerdict> agree_on_verdicts(const std::vector<CaseVerdict>& mine) {
    constexpr std::string_view all = "conform/verdicts";
    store_->set_text(verdict_key(environment_.rank), to_json(mine).dump());
    if (environment_.rank == 0) store_->set_text(all, to_json(gather(mine)).dump());
    const Duration slack = std::chrono::seconds(30);
    const Duration limit = longest_timeout();
    return verdicts_from_text(
        store_->get_text(all, limit < no_timeout - slack ? limit + slack : no_timeout));
  }

 private:
  static std::string cases_key(int rank) { return fmt::format("conform/cases/{}", rank); }
  static std::string verdict_key(int rank) { return fmt::format("conform/verdict/{}", rank); }

  Duration longest_timeout() const {
    Duration longest = std::chrono::seconds(1);
    for (const ConformanceCase& one : cases_)
      longest = std::max(longest, one.specification.options.timeout);
    return longest;
  }

  CaseVerdict run_case(std::size_t index) {
    const ConformanceCase& one = cases_[index];
    if (one.fault) return run_faulted_case(index);
    const auto began = std::chrono::steady_clock::now();
    RunSpecification simulated = one.specification;
    simulated.backend = is_nccl_ ? BackendKind::sim_nccl : BackendKind::sim;
    simulated.world_size = environment_.world_size;
    RunResult expected = run(one.program, simulated, {.outputs = KeepOutputs::data});
    const RunResult actual = run_here(index, expected);
    const AgreementReport report = compare_runs(only_here(std::move(expected)), actual);
    CaseVerdict verdict{.program = one.program.name, .agrees = report.agrees()};
    if (!verdict.agrees) verdict.text = disagreement(report);
    verdict.elapsed = std::chrono::steady_clock::now() - began;
    return verdict;
  }

  // The same program twice, the second time with a fault.
  CaseVerdict run_faulted_case(std::size_t index) {
    const ConformanceCase& one = cases_[index];
    const auto began = std::chrono::steady_clock::now();
    const Duration timeout = one.specification.options.timeout;
    const RootPlan without{fmt::format("conform/{}/clean", index), timeout};
    const RankOutcome clean =
        is_of_process(*one.fault)
            ? run_incarnations({}, [&](int) { return run_as_child(one, without, 0); })
            : run_program(one, without);
    // Only the victim needs to know its number of operations.
    const std::vector<std::uint64_t> operations(static_cast<std::size_t>(environment_.world_size),
                                                clean.operations);
    const std::array faults = {draw_process_fault(*one.fault, {operations, timeout / 4},
                                                  one.specification.options.seed, one.fault_index)};
    const RootPlan plan{fmt::format("conform/{}/faulted", index), timeout, faults};
    const Duration usual = std::chrono::steady_clock::now() - began;
    const RankOutcome outcome =
        is_of_process(*one.fault) ? run_processes_of(index, plan, usual) : run_program(one, plan);
    CaseVerdict verdict{.program = fmt::format("{}, {} {}", one.program.name, to_string(*one.fault),
                                               one.fault_index)};
    std::optional<std::string> problem =
        problem_of(environment_.rank, outcome, clean.outputs, faults, timeout);
    if (clean.failure) problem = "fails without any fault: " + clean.failure->text;
    if (problem) {
      verdict.agrees = false;
      verdict.text = fmt::format("rank {} {} ({})", environment_.rank, *problem,
                                 harness::to_string(faults.front()));
    }
    verdict.elapsed = std::chrono::steady_clock::now() - began;
    return verdict;
  }

  struct RootPlan {
    std::string prefix;
    Duration timeout{0};
    std::span<const ProcessFault> faults = {};
  };

  static std::string ended_key(const RootPlan& plan, int rank) {
    return fmt::format("{}/ended/{}", plan.prefix, rank);
  }

  // In the process that has the fault, which lacks this one's threads and connections.
  RankOutcome run_as_child(const ConformanceCase& one, const RootPlan& plan, int incarnation) {
    Conformance child(cases_, BackendKind::gloo, environment_, store_->new_client());
    child.connect();
    return child.run_program(one, plan, incarnation);
  }

  // The program in processes that faults may end. `usual` is how long it takes without faults. A
  // stopped process continues when the ranks elsewhere have ended. Blocks until all have.
  RankOutcome run_processes_of(std::size_t index, const RootPlan& plan, Duration usual) {
    const ConformanceCase& one = cases_[index];
    const Duration most = std::chrono::hours(24);
    const Duration slack = std::chrono::seconds(30);
    const bool is_bounded = plan.timeout < most && usual < most;
    const Duration limit = is_bounded ? 4 * (plan.timeout + usual) + slack : no_timeout;
    const Incarnations incarnations{
        .limits = {.in_all = limit, .may_go_on = [&] { return have_others_ended(plan); }},
        .pause = pause_of_restart(plan.faults, environment_.rank)};
    RankOutcome outcome = run_incarnations(
        incarnations, [&](int incarnation) { return run_as_child(one, plan, incarnation); });
    store_->set_text(ended_key(plan, environment_.rank), "");
    for (int rank = 0; rank < environment_.world_size; ++rank)
      store_->get_text(ended_key(plan, rank), is_bounded ? limit + slack : no_timeout);
    return outcome;
  }

  bool have_others_ended(const RootPlan& plan) {
    for (int rank = 0; rank < environment_.world_size; ++rank)
      if (rank != environment_.rank && !store_->try_get_text(ended_key(plan, rank))) return false;
    return true;
  }

  // This rank's run of a program on a gang of its own.
  RankOutcome run_program(const ConformanceCase& one, const RootPlan& plan, int incarnation = 0) {
    const ParameterValues parameters{one.program.parameters, one.specification.parameters};
    FaultTally tally;
    RankOutcome outcome =
        run_rank({.program = one.program,
                  .parameters = parameters,
                  .runtime = *runtime_,
                  .rank = environment_.rank,
                  .world_size = environment_.world_size,
                  .seed = one.specification.options.seed,
                  .incarnation = environment_.restart_count + incarnation},
                 [&] {
                   return make_faulted_gang(recorded(make_gang(plan), one), environment_.rank,
                                            plan.faults, tally);
                 });
    outcome.operations = tally.operations;
    outcome.struck = tally.struck;
    return outcome;
  }

  // The same as a result that can be compared with the simulated one, `expected`.
  RunResult run_here(std::size_t index, const RunResult& expected) {
    const ConformanceCase& one = cases_[index];
    const bool is_stuck = verdict_of(expected.report) == "stuck";
    std::vector<RankOutcome> outcomes(static_cast<std::size_t>(environment_.world_size));
    RankOutcome& own = outcomes[static_cast<std::size_t>(environment_.rank)];
    own =
        run_program(one, {fmt::format("conform/{}", index),
                          is_stuck ? std::chrono::seconds(2) : one.specification.options.timeout});
    RunResult result{.report = report_of(outcomes), .specification = one.specification};
    result.specification.backend = is_nccl_ ? BackendKind::nccl : BackendKind::gloo;
    result.world_size = environment_.world_size;
    if (own.wrong_result)
      result.report.findings.push_back({.id = std::string{sim::finding_id::wrong_result},
                                        .ranks = {environment_.rank},
                                        .message = *own.wrong_result});
    OutputRecorder recorder(environment_.world_size, KeepOutputs::data);
    record(outcomes, recorder);
    result.outputs = recorder.take_outputs();
    return result;
  }

  // Each case in a folder of its own, unless it is the only one.
  std::shared_ptr<Gang> recorded(std::shared_ptr<Gang> root, const ConformanceCase& one) const {
    if (environment_.record_folder.empty()) return root;
    const std::string name = fmt::format("/{}_{}", &one - cases_.data(), one.program.name);
    return make_recorded(std::move(root),
                         {.folder = environment_.record_folder + (cases_.size() == 1 ? "" : name),
                          .rank = environment_.rank,
                          .is_in_stream = is_nccl_});
  }

  std::shared_ptr<Gang> make_gang(const RootPlan& plan) {
    if (is_nccl_)
      return make_nccl_job_gang({.environment = environment_,
                                 .store = store_,
                                 .runtime = runtime_,
                                 .timeout = plan.timeout,
                                 .key = plan.prefix});
    const auto root = make_gloo_gang({.connector = connector_,
                                      .runtime = runtime_,
                                      .rank = environment_.rank,
                                      .size = environment_.world_size,
                                      .timeout = plan.timeout,
                                      .prefix = plan.prefix});
    return make_validating_gang(root, {.runtime = runtime_});
  }

  // Each rank compares only its own outputs.
  RunResult only_here(RunResult result) const {
    for (std::size_t rank = 0; rank < result.outputs.by_rank.size(); ++rank)
      if (static_cast<int>(rank) != environment_.rank) result.outputs.by_rank[rank].clear();
    return result;
  }

  std::string disagreement(const AgreementReport& report) const {
    if (report.difference)
      return harness::to_string(*report.difference, harness::to_string(report.left),
                                harness::to_string(report.right));
    return fmt::format("rank {}: {} on {}, {} on {}. {}", environment_.rank, report.left_verdict,
                       harness::to_string(report.left), report.right_verdict,
                       harness::to_string(report.right), report.right_text);
  }

  // On rank 0: the ranks' verdicts; for each case that of the first rank that disagrees.
  std::vector<CaseVerdict> gather(std::vector<CaseVerdict> verdicts) {
    const Duration slack = std::chrono::seconds(10);
    const Duration longest = longest_timeout();
    const Duration limit = longest < no_timeout - slack ? longest + slack : no_timeout;
    for (int rank = 1; rank < environment_.world_size; ++rank) {
      const std::vector<CaseVerdict> others = verdicts_of(rank, limit);
      for (std::size_t i = 0; i < verdicts.size(); ++i) {
        verdicts[i].elapsed = std::max(verdicts[i].elapsed, others[i].elapsed);
        if (!verdicts[i].agrees || others[i].agrees) continue;
        verdicts[i].agrees = false;
        verdicts[i].text = others[i].text;
      }
    }
    return verdicts;
  }

  std::vector<CaseVerdict> verdicts_of(int rank, Duration limit) {
    std::string problem;
    try {
      std::vector<CaseVerdict> verdicts =
          verdicts_from_text(store_->get_text(verdict_key(rank), limit));
      if (verdicts.size() == cases_.size()) return verdicts;
      problem = "returned a different number of verdicts";
    } catch (const std::exception& error) {
      problem = fmt::format("returned no verdict: {}", error.what());
    }
    return std::vector<CaseVerdict>(
        cases_.size(),
        CaseVerdict{.agrees = false, .text = fmt::format("rank {} {}", rank, problem)});
  }

  const std::vector<ConformanceCase>& cases_;
  const bool is_nccl_;
  const Environment& environment_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Runtime> runtime_ = make_real_runtime();
  std::shared_ptr<GlooConnector> connector_;
};

}  // namespace

bool ConformanceReport::holds() const noexcept {
  return std::ranges::all_of(cases, [](const CaseVerdict& verdict) { return verdict.agrees; });
}

ConformanceReport run_conformance(const std::vector<ConformanceCase>& cases, BackendKind backend,
                                  const Environment& environment,
                                  const std::shared_ptr<Store>& store) {
  if (backend != BackendKind::gloo && backend != BackendKind::nccl)
    throw NotSupported(fmt::format("backend {} cannot be checked by conform; must be gloo or nccl",
                                   to_string(backend)));
  const auto is_in_processes = [](const ConformanceCase& one) {
    return one.fault && is_of_process(*one.fault);
  };
  if (backend == BackendKind::nccl && std::ranges::any_of(cases, is_in_processes))
    throw NotSupported(
        "CUDA does not survive a fork, so faults of processes need the backend gloo");
  Conformance conformance(cases, backend, environment, store);
  if (!std::ranges::all_of(cases, is_in_processes)) conformance.connect();
  conformance.agree_on_cases();
  ConformanceReport report{.backend = backend, .world_size = environment.world_size};
  if (!cases.empty()) report.seed = cases.front().specification.options.seed;
  report.cases = conformance.agree_on_verdicts(conformance.run_all());
  return report;
}

std::string to_string(const ConformanceReport& report) {
  std::string text = fmt::format("{}  {} against sim, world {}, seed {}\n\n",
                                 report.holds() ? "CONFORMS" : "DIFFERS", to_string(report.backend),
                                 report.world_size, report.seed);
  for (const CaseVerdict& verdict : report.cases) {
    text += fmt::format("  {}  {:<24}{:>8.2f} s\n", verdict.agrees ? "✓" : "✗", verdict.program,
                        to_seconds(verdict.elapsed));
    if (!verdict.agrees) text += sim::wrapped(verdict.text, "       ");
  }
  return text;
}

json to_json(const ConformanceReport& report) {
  return {{"format", "gangsim conformance"}, {"version", 1},
          {"holds", report.holds()},         {"backend", to_string(report.backend)},
          {"world", report.world_size},      {"seed", report.seed},
          {"cases", to_json(report.cases)}};
}

JunitSuite to_junit(const ConformanceReport& report) {
  JunitSuite suite{.name = fmt::format("conform {}", to_string(report.backend))};
  for (const CaseVerdict& verdict : report.cases) {
    suite.cases.push_back(
        {.class_name = "conform", .name = verdict.program, .time = verdict.elapsed});
    if (!verdict.agrees) suite.cases.back().failure = {verdict.text};
  }
  return suite;
}

std::vector<SarifResult> to_sarif(const ConformanceReport& report) {
  SourceTree tree(std::filesystem::current_path());
  std::vector<SarifResult> results;
  for (const CaseVerdict& verdict : report.cases) {
    if (verdict.agrees) continue;
    SarifResult& result = results.emplace_back(
        SarifResult{.rule = fmt::format("differs_on_{}", to_string(report.backend)),
                    .message = fmt::format("{}: {}", verdict.program, verdict.text),
                    .identity = verdict.program});
    if (verdict.program.ends_with(".toml"))
      result.place = SarifPlace{.uri = tree.uri_of(verdict.program)};
  }
  return results;
}

}  // namespace gang::harness
