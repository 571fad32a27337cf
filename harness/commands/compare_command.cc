#include "harness/commands/compare_command.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <ostream>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/comparison/agreement_report.h"
#include "harness/comparison/faulted_processes.h"
#include "harness/program_file/program_source.h"
#include "harness/run/runner.h"
#include "harness/text/output_file.h"

namespace gang::harness {
namespace {

// How long real ranks wait for each other where the simulated ones never meet.
constexpr Duration stuck_timeout = std::chrono::seconds(2);

// How long they wait for a rank that a fault befalls, unless told otherwise.
constexpr Duration faulted_timeout = std::chrono::seconds(2);

class CompareCommand final : public Command {
 public:
  std::string name() const override { return "compare"; }
  std::string description() const override {
    return "runs a program simulated and on real processes, and compares";
  }
  std::vector<std::string> examples() const override {
    return {"compare every_collective --backend gloo --world 4",
            "compare suspect.toml --backend gloo --timeout 5s",
            "compare every_collective --backend nccl --world 1",
            "compare --random --cases 200 --seed 1 --backend gloo --world 3",
            "compare every_collective --world 4 --faults kill --cases 50 --seed 1"};
  }

  void add_options(CLI::App& app) override {
    app.add_option("PROGRAM", program_, "a name from 'list programs', or a .toml file");
    app.add_flag("--random", random_, "random programs instead, made from the seed");
    app.add_option("--cases", cases_, "how many random programs [100], or faulted runs [50]")
        ->type_name("N");
    app.add_option("--faults", faults_,
                   "instead, see that faults of processes are contained: kill, stop, exit, "
                   "exception, delay, restart, store; or a plan, as run has them")
        ->type_name("FAULTS");
    app.add_option("--case", case_, "of the faulted runs, only this one")->type_name("K");
    app.add_option("--set", assignments_, "a parameter of the program; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    for (const RunOption& option : run_options()) {
      if (std::ranges::find(option_names, option.name) == option_names.end()) continue;
      chosen_.push_back({&option, std::nullopt});
    }
    for (Chosen& one : chosen_) {
      const bool is_backend = one.option->name == "backend";
      app.add_option("--" + one.option->name, one.text,
                     is_backend ? "what to compare sim with [gloo]" : one.option->description)
          ->type_name(one.option->value_name);
    }
    app.add_option("--against", simulator_,
                   "sim; sim-gloo: bit for bit; sim-nccl [sim, for nccl sim-nccl]")
        ->type_name("NAME");
    app.add_option("--json", json_path_, "the result as JSON")->type_name("FILE");
    app.add_flag("--quiet", quiet_, "print nothing where they agree");
  }

  int run(CommandContext& context) override {
    check_choice();
    const std::string name = random_ ? "random" : program_;
    const ProgramSource source = find_program_source(context.programs, name);
    RunSpecification real = source.specification;
    real.backend = "gloo";
    for (const Chosen& one : chosen_)
      if (one.text) one.option->set(real, *one.text);
    for (const std::string& assignment : assignments_) set_parameter(real, assignment);
    if (random_) {
      real.parameters["cases"] = faults_.empty() ? cases_.value_or("100") : "10";
      real.parameters["seed"] = std::to_string(real.seed);
    }
    std::optional<OutputFile> json;
    if (!json_path_.empty()) json.emplace("--json", json_path_);
    if (!faults_.empty()) return run_faulted(source, real, context, json);
    const std::string simulator = simulator_.value_or(usual_simulator(real.backend));
    AgreementReport report = compare(source.program, real, simulator, context.binary);
    report.reproduce = reproduce(real, source.specification, context.binary);
    if (!report.agrees() || !quiet_) context.out << to_string(report);
    context.out.flush();
    if (json) json->commit(to_json(report).dump(2) + "\n");
    return report.agrees() ? exit_status::holds : exit_status::finding;
  }

 private:
  // The options of run that mean something on processes as well.
  static constexpr std::array<std::string_view, 4> option_names = {"world", "backend", "seed",
                                                                   "timeout"};
  struct Chosen {
    const RunOption* option;
    std::optional<std::string> text;
  };

  void check_choice() const {
    if (random_ && !program_.empty())
      throw InvalidArgument("PROGRAM is '" + program_ +
                            "' beside --random; accepted is one of them");
    if (!random_ && program_.empty())
      throw InvalidArgument("PROGRAM is missing; accepted are a name, a .toml file, and --random");
    if (simulator_ && simulator_ != "sim" && simulator_ != "sim-gloo" && simulator_ != "sim-nccl")
      throw InvalidArgument("--against is '" + *simulator_ +
                            "'; accepted: sim, sim-gloo, sim-nccl");
    if (cases_ && !random_ && faults_.empty())
      throw InvalidArgument("--cases goes with --random or --faults");
    if (case_ && faults_.empty()) throw InvalidArgument("--case goes with --faults");
  }

  // Every rank on a process of its own, one of which a fault befalls, in case after case.
  int run_faulted(const ProgramSource& source, const RunSpecification& real,
                  const CommandContext& context, std::optional<OutputFile>& json) const {
    if (real.backend != "gloo")
      throw InvalidArgument("--faults needs processes: --backend is '" + real.backend +
                            "'; accepted: gloo");
    const ProcessFaultCases::Draw draw = process_faults_called(faults_);
    RunSpecification faulted = real;
    if (!is_chosen("timeout")) faulted.timeout = faulted_timeout;
    const ProcessFaultCases cases{.name = faults_,
                                  .draw = draw,
                                  .first = case_.value_or(0),
                                  .count = case_ ? 1 : faulted_cases()};
    std::size_t done = 0;
    const auto tell = [&](const FaultedCase& one) {
      if (!context.out_is_terminal || quiet_) return;
      context.out << fmt::format("\r\033[K  case {} of {}: {}", ++done, cases.count,
                                 one.problems.empty() ? "contained" : "broken");
      context.out.flush();
    };
    FaultedProcessesReport report = run_faulted_processes(source.program, faulted, cases, tell);
    if (done > 0) context.out << "\r\033[K";
    report.reproduce = reproduce_faulted(report, faulted, source.specification, context.binary);
    if (!report.holds() || !quiet_) context.out << to_string(report);
    context.out.flush();
    if (json) json->commit(to_json(report).dump(2) + "\n");
    return report.holds() ? exit_status::holds : exit_status::finding;
  }

  // What there is of NCCL in simulation refuses what NCCL refuses.
  static std::string usual_simulator(std::string_view backend) {
    return backend == "nccl" ? "sim-nccl" : "sim";
  }

  static AgreementReport compare(const Program& program, const RunSpecification& real,
                                 const std::string& simulator, std::string_view binary) {
    const RunRecording recording{.outputs = KeepOutputs::data};
    RunSpecification simulated = real;
    simulated.backend = simulator;
    const RunResult left = harness::run(program, simulated, recording, binary);
    RunSpecification bounded = real;
    if (verdict_of(left.report) == "stuck") bounded.timeout = std::min(real.timeout, stuck_timeout);
    const RunResult right = harness::run(program, bounded, recording, binary);
    return compare_runs(left, right);
  }

  bool is_chosen(std::string_view name) const {
    return std::ranges::any_of(
        chosen_, [name](const Chosen& one) { return one.option->name == name && one.text; });
  }

  std::uint64_t faulted_cases() const {
    const std::string text = cases_.value_or("50");
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error == std::errc{} && end == text.data() + text.size() && count > 0 && count <= 1'000'000)
      return count;
    throw InvalidArgument("--cases is '" + text + "'; accepted: 1 to 1000000");
  }

  std::string reproduce(const RunSpecification& real, const RunSpecification& baseline,
                        const std::string& binary) const {
    const std::string what = random_ ? "--random --cases " + cases_.value_or("100") : "";
    return command_line(what, real, baseline, binary) +
           (!simulator_ || simulator_ == "sim" ? "" : " --against " + *simulator_);
  }

  // The first case that was not contained, else all.
  std::string reproduce_faulted(const FaultedProcessesReport& report, const RunSpecification& real,
                                const RunSpecification& baseline, const std::string& binary) const {
    const auto broken = std::ranges::find_if(
        report.cases, [](const FaultedCase& one) { return !one.problems.empty(); });
    const std::string which = broken == report.cases.end()
                                  ? fmt::format("--cases {}", faulted_cases())
                                  : fmt::format("--case {}", broken->index);
    return fmt::format(
        "{} --faults {} {}", command_line(random_ ? "--random" : "", real, baseline, binary),
        shell_quoted(report.faults), case_ ? fmt::format("--case {}", *case_) : which);
  }

  // "gangsim compare PROGRAM --world 4 ...": `random` instead of the program, where it is not "".
  static std::string command_line(const std::string& random, const RunSpecification& real,
                                  const RunSpecification& baseline, const std::string& binary) {
    RunSpecification said = real;
    if (!random.empty()) {
      said.parameters.erase("cases");
      said.parameters.erase("seed");
    }
    // Everything after "run PROGRAM".
    const std::string run = to_command_line(said, "", baseline);
    const std::string head = " run " + shell_quoted(said.program);
    const std::string rest = run.starts_with(head) ? run.substr(head.size()) : "";
    return binary + " compare " + (random.empty() ? shell_quoted(said.program) : random) + rest;
  }

  std::string program_;
  bool random_ = false;
  std::optional<std::string> cases_;
  std::string faults_;
  std::optional<std::uint64_t> case_;
  std::vector<std::string> assignments_;
  std::vector<Chosen> chosen_;
  std::optional<std::string> simulator_;
  std::string json_path_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace gang::harness
