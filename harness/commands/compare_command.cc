#include "harness/commands/compare_command.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/agreement_report.h"
#include "harness/output_file.h"
#include "harness/program_source.h"
#include "harness/runner.h"

namespace gang::harness {
namespace {

// How long real ranks wait for each other where the simulated ones never meet.
constexpr Duration stuck_timeout = std::chrono::seconds(2);

class CompareCommand final : public Command {
 public:
  std::string name() const override { return "compare"; }
  std::string description() const override {
    return "runs a program simulated and on real processes, and compares";
  }
  std::vector<std::string> examples() const override {
    return {"compare every_collective --backend gloo --world 4",
            "compare suspect.toml --backend gloo --timeout 5s",
            "compare --random --cases 200 --seed 1 --backend gloo --world 3"};
  }

  void add_options(CLI::App& app) override {
    app.add_option("PROGRAM", program_, "a name from 'list programs', or a .toml file");
    app.add_flag("--random", random_, "random programs instead, made from the seed");
    app.add_option("--cases", cases_, "how many random programs [100]")->type_name("N");
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
    app.add_option("--against", simulator_, "sim, or sim-gloo: bit for bit [sim]")
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
      real.parameters["cases"] = cases_.value_or("100");
      real.parameters["seed"] = std::to_string(real.seed);
    }
    std::optional<OutputFile> json;
    if (!json_path_.empty()) json.emplace("--json", json_path_);
    AgreementReport report = compare(source.program, real, simulator_, context.binary);
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
    if (simulator_ != "sim" && simulator_ != "sim-gloo")
      throw InvalidArgument("--against is '" + simulator_ + "'; accepted: sim, sim-gloo");
    if (cases_ && !random_) throw InvalidArgument("--cases goes with --random");
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

  std::string reproduce(const RunSpecification& real, const RunSpecification& baseline,
                        const std::string& binary) const {
    RunSpecification said = real;
    std::string command = binary + " compare";
    if (random_) {
      said.parameters.erase("cases");
      said.parameters.erase("seed");
    }
    // Everything after "run PROGRAM".
    const std::string run = to_command_line(said, "", baseline);
    const std::string head = " run " + shell_quoted(said.program);
    const std::string rest = run.starts_with(head) ? run.substr(head.size()) : "";
    command +=
        random_ ? " --random --cases " + cases_.value_or("100") : " " + shell_quoted(said.program);
    return command + rest + (simulator_ == "sim" ? "" : " --against " + simulator_);
  }

  std::string program_;
  bool random_ = false;
  std::optional<std::string> cases_;
  std::vector<std::string> assignments_;
  std::vector<Chosen> chosen_;
  std::string simulator_ = "sim";
  std::string json_path_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_compare_command() { return std::make_unique<CompareCommand>(); }

}  // namespace gang::harness
