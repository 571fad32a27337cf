#include <algorithm>
#include <chrono>
#include <limits>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "gang/error_file.h"
#include "gang/recording/flight_recorder.h"
#include "gang/store/rendezvous.h"
#include "harness/backends/backend.h"
#include "harness/commands/commands.h"
#include "harness/comparison/conformance.h"
#include "harness/program_file/program_source.h"
#include "harness/text/suggestion.h"

namespace gang::harness {
namespace {

class ConformCommand final : public Command {
 public:
  explicit ConformCommand(std::function<EnvironmentVariables()> variables)
      : variables_(std::move(variables)) {}

  std::string name() const override { return "conform"; }
  std::string description() const override {
    return "inside torchrun: checks a real backend against simulation";
  }
  std::vector<std::string> examples() const override {
    return {"conform --backend gloo --cases 100 --seed 1 --junit out.xml",
            "conform ring every_collective --timeout 10s",
            "conform ring --faults kill --cases 10 --timeout 5s",
            "conform ring --record dumps/       # then: explain dumps/", "conform --backend nccl"};
  }

  std::string notes() const override {
    return "Started once per rank by torchrun (--no_python) or srun, or with RANK, WORLD_SIZE, "
           "MASTER_ADDR and MASTER_PORT set. Every rank ends with the same exit status.";
  }

  std::vector<Option> options() override {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    return {
        list_option("PROGRAM", "", "names from 'list programs', or .toml files [all]", programs_),
        number_option("--cases", "random programs in addition, or faulted runs of each [20]",
                      cases_, std::uint64_t{0}, std::uint64_t{1'000'000}),
        text_option("--faults", "KIND",
                    "instead, check that faults of a rank are contained: exception, delay, or for "
                    "gloo, in a process started for it: kill, stop, exit, restart",
                    faults_),
        {.name = "--backend",
         .value_name = "NAME",
         .description = "what to check, gloo or nccl [gloo]",
         .set = [this](std::string_view text) { backend_ = parse_backend(text); }},
        number_option("--seed", "seed for data and random programs [1]", seed_, std::uint64_t{0},
                      most),
        {.name = "--timeout",
         .value_name = "TIME",
         .description = "timeout of the root gang [1min]",
         .set = [this](std::string_view text) { timeout_ = parse_duration(text); }},
        text_option("--record", "FOLDER",
                    "a Flight Recorder dump of every rank and program, for explain [that of "
                    "GANGSIM_RECORD]",
                    record_),
        json_.option("the verdict as JSON, from rank 0"),
        junit_.option("the verdict as JUnit XML, from rank 0"),
        sarif_.option("the verdict as SARIF, for code review, from rank 0")};
  }

  int run(CommandContext& context) override {
    auto environment = parse_environment(variables_());
    if (environment && !record_.empty()) environment->record_folder = record_;
    if (!environment)
      throw InvalidArgument(
          "conform runs once per rank, under torchrun or srun; RANK and WORLD_SIZE are not set");
    if (!environment->record_folder.empty()) prepare_dump_folder(environment->record_folder);
    try {
      return run_rank(context, *environment);
    } catch (const Error& error) {
      write_error_file(environment->error_file, describe_failure(error));
      throw;
    }
  }

 private:
  int run_rank(CommandContext& context, const Environment& environment) {
    require_backend(backend_);
    const std::vector<ConformanceCase> cases = make_cases(context.programs);
    const bool speaks = environment.rank == 0;
    if (speaks) json_.open();
    if (speaks) junit_.open();
    if (speaks) sarif_.open();
    const ConformanceReport report = conform(cases, environment);
    if (speaks) {
      context.out << to_string(report);
      context.out.flush();
      json_.write([&report] { return to_json(report).dump(2) + "\n"; });
      junit_.write([&report] { return to_junit_xml("gangsim conform", {to_junit(report)}); });
      sarif_.write([&report] { return to_sarif_text("gangsim conform", to_sarif(report)); });
    }
    if (report.holds()) return exit_status::holds;
    write_error_file(environment.error_file,
                     describe_failure(Error("conform: the real backend and simulation differ")));
    return exit_status::finding;
  }

  // Missing peers are a fault of the environment.
  ConformanceReport conform(const std::vector<ConformanceCase>& cases,
                            const Environment& environment) const {
    try {
      return run_conformance(
          cases, backend_, environment,
          make_rendezvous_store(environment, cases.front().specification.options.timeout));
    } catch (const StoreError& error) {
      throw NotSupported(error.what());
    }
  }

  std::vector<ConformanceCase> make_cases(const std::vector<Program>& known) const {
    std::vector<ConformanceCase> cases;
    std::vector<std::string> names = programs_;
    if (names.empty()) names = {"all_reduce", "data_parallel_step", "every_collective", "ring"};
    for (const std::string& name : names) {
      ProgramSource source = find_program_source(known, name);
      cases.push_back({std::move(source.program), std::move(source.specification)});
    }
    if (!faults_.empty()) return faulted(cases);
    const bool has_random =
        std::ranges::any_of(known, [](const Program& program) { return program.name == "random"; });
    if (has_random && cases_ > 0) {
      cases.push_back({find_program(known, "random"), {.program = "random"}});
      cases.back().specification.parameters = {{"cases", fmt::format("{}", cases_)},
                                               {"seed", fmt::format("{}", seed_)}};
    }
    for (ConformanceCase& one : cases) set_options(one.specification);
    return cases;
  }

  // Every program with fault after fault.
  std::vector<ConformanceCase> faulted(const std::vector<ConformanceCase>& programs) const {
    const auto kind = parse_name(process_fault_names, faults_);
    if (!kind) throw InvalidArgument("--faults " + unknown_name(faults_, process_fault_names));
    if (*kind == ProcessFaultKind::store)
      throw InvalidArgument(
          "--faults is 'store', but this job's store belongs to its launcher; use it with compare");
    if (is_of_process(*kind) && backend_ != BackendKind::gloo)
      throw InvalidArgument(
          fmt::format("--faults is '{}' with --backend {}; must be one of: "
                      "exception, delay",
                      faults_, to_string(backend_)));
    if (cases_ == 0) throw InvalidArgument("--cases is 0 with --faults; must be 1 or more");
    std::vector<ConformanceCase> cases;
    for (const ConformanceCase& program : programs) {
      for (std::uint64_t index = 0; index < cases_; ++index) {
        cases.push_back(program);
        cases.back().fault = kind;
        cases.back().fault_index = index;
        set_options(cases.back().specification);
      }
    }
    return cases;
  }

  void set_options(RunSpecification& specification) const {
    specification.options.seed = seed_;
    specification.options.timeout = timeout_;
  }

  std::function<EnvironmentVariables()> variables_;
  std::vector<std::string> programs_;
  std::uint64_t cases_ = 20;
  std::string faults_;
  std::string record_;
  BackendKind backend_ = BackendKind::gloo;
  std::uint64_t seed_ = 1;
  Duration timeout_ = std::chrono::minutes(1);
  FileOption json_{"--json"};
  FileOption junit_{"--junit"};
  FileOption sarif_{"--sarif"};
};

}  // namespace

std::unique_ptr<Command> make_conform_command(std::function<EnvironmentVariables()> variables) {
  return std::make_unique<ConformCommand>(std::move(variables));
}

}  // namespace gang::harness
