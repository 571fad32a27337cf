#include "harness/commands/conform_command.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <ostream>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "gang/error_file.h"
#include "gang/store/rendezvous.h"
#include "harness/backends/backend.h"
#include "harness/comparison/conformance.h"
#include "harness/program_file/program_source.h"
#include "harness/text/output_file.h"
#include "harness/text/suggestion.h"

namespace gang::harness {
namespace {

class ConformCommand final : public Command {
 public:
  explicit ConformCommand(std::function<EnvironmentVariables()> variables)
      : variables_(std::move(variables)) {}

  std::string name() const override { return "conform"; }
  std::string description() const override {
    return "inside torchrun: does the real backend do what sim says?";
  }
  std::vector<std::string> examples() const override {
    return {"conform --backend gloo --cases 100 --seed 1 --junit out.xml",
            "conform ring every_collective --timeout 10s",
            "conform ring --faults kill --cases 10 --timeout 5s", "conform --backend nccl"};
  }

  void add_options(CLI::App& app) override {
    app.footer(
        "Started once per rank by torchrun (--no_python), srun, or with RANK, WORLD_SIZE,\n"
        "MASTER_ADDR and MASTER_PORT set. Every rank ends with the same exit status.\n\n" +
        app.get_footer());
    app.add_option("PROGRAM", programs_, "names from 'list programs', or .toml files [all]");
    app.add_option("--cases", cases_, "random programs beside them, or faulted runs of each [20]")
        ->type_name("N");
    app.add_option("--faults", faults_,
                   "instead, see that faults of a rank are contained: kill, stop, exit, restart "
                   "(gloo: of a process made for it), exception, delay")
        ->type_name("KIND");
    app.add_option("--backend", backend_, "what to check [gloo]")->type_name("NAME");
    app.add_option("--seed", seed_, "of data and random programs [1]")->type_name("N");
    app.add_option("--timeout", timeout_, "of the root gang [1min]")->type_name("TIME");
    app.add_option("--json", json_path_, "the verdict as JSON, from rank 0")->type_name("FILE");
    app.add_option("--junit", junit_path_, "the same as JUnit XML")->type_name("FILE");
  }

  int run(CommandContext& context) override {
    const auto environment = parse_environment(variables_());
    if (!environment)
      throw InvalidArgument(
          "conform is run once per rank, by torchrun or srun; RANK and WORLD_SIZE are not set");
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
    std::optional<OutputFile> json;
    std::optional<OutputFile> junit;
    if (speaks && !json_path_.empty()) json.emplace("--json", json_path_);
    if (speaks && !junit_path_.empty()) junit.emplace("--junit", junit_path_);
    const ConformanceReport report = conform(cases, environment);
    if (speaks) context.out << to_string(report);
    context.out.flush();
    if (json) json->commit(to_json(report).dump(2) + "\n");
    if (junit) junit->commit(to_junit_xml(report));
    if (report.holds()) return exit_status::holds;
    write_error_file(environment.error_file, describe_failure(Error("conform: the real backend "
                                                                    "does not do what sim says")));
    return exit_status::finding;
  }

  // Peers that do not come are what the environment lacks.
  ConformanceReport conform(const std::vector<ConformanceCase>& cases,
                            const Environment& environment) const {
    try {
      return run_conformance(
          cases, backend_, environment,
          make_rendezvous_store(environment, cases.front().specification.timeout));
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
    if (has_random && cases_ != "0") {
      cases.push_back({find_program(known, "random"), {.program = "random"}});
      set_parameter(cases.back().specification, "cases=" + cases_);
      set_parameter(cases.back().specification, "seed=" + seed_);
    }
    for (ConformanceCase& one : cases) {
      set_option(one.specification, "seed", seed_);
      set_option(one.specification, "timeout", timeout_);
    }
    return cases;
  }

  // Every program with fault after fault.
  std::vector<ConformanceCase> faulted(const std::vector<ConformanceCase>& programs) const {
    const auto kind = parse_process_fault(faults_);
    if (!kind) throw InvalidArgument("--faults " + unknown_name(faults_, process_fault_names()));
    if (*kind == ProcessFaultKind::store)
      throw InvalidArgument(
          "--faults is 'store', but the store of this job is its launcher's; accepted with "
          "compare");
    if (is_of_process(*kind) && backend_ != "gloo")
      throw InvalidArgument("--faults is '" + faults_ + "' and --backend '" + backend_ +
                            "'; accepted there: exception, delay");
    std::vector<ConformanceCase> cases;
    for (const ConformanceCase& program : programs) {
      for (std::uint64_t index = 0; index < std::strtoull(cases_.c_str(), nullptr, 10); ++index) {
        cases.push_back(program);
        cases.back().fault = kind;
        cases.back().fault_index = index;
        set_option(cases.back().specification, "seed", seed_);
        set_option(cases.back().specification, "timeout", timeout_);
      }
    }
    if (cases.empty()) throw InvalidArgument("--cases is '" + cases_ + "'; accepted: 1 and more");
    return cases;
  }

  std::function<EnvironmentVariables()> variables_;
  std::vector<std::string> programs_;
  std::string cases_ = "20";
  std::string faults_;
  std::string backend_ = "gloo";
  std::string seed_ = "1";
  std::string timeout_ = "1min";
  std::string json_path_;
  std::string junit_path_;
};

}  // namespace

std::unique_ptr<Command> make_conform_command(std::function<EnvironmentVariables()> variables) {
  return std::make_unique<ConformCommand>(std::move(variables));
}

}  // namespace gang::harness
