#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/commands/commands.h"
#include "harness/commands/shard_option.h"
#include "harness/comparison/agreement_report.h"
#include "harness/comparison/faulted_processes.h"
#include "harness/program_file/program_source.h"
#include "harness/run/runner.h"

namespace gang::harness {
namespace {

// How long real ranks wait for each other if the simulated ones are stuck.
constexpr Duration stuck_timeout = std::chrono::seconds(2);

// How long they wait for a rank that has a fault, by default.
constexpr Duration faulted_timeout = std::chrono::seconds(2);

class CompareCommand final : public Command {
 public:
  explicit CompareCommand(ReadEnvironment variables) : shards_(std::move(variables)) {}

  std::string name() const override { return "compare"; }
  std::string description() const override {
    return "runs a program simulated and on real processes, and compares";
  }
  std::vector<std::string> examples() const override {
    return {"compare every_collective --backend gloo --world 4",
            "compare suspect.toml --backend gloo --timeout 5s",
            "compare every_collective --backend nccl --world 1",
            "compare --random --cases 200 --seed 1 --backend gloo --world 3",
            "compare every_collective --world 4 --faults kill --cases 50 --seed 1",
            "compare ring --faults kill --cases 800 --shard 3/8 --json 3.json"};
  }

  std::vector<Option> options() override {
    Option program = program_argument(program_);
    program.is_required = false;
    std::vector<Option> options = {
        std::move(program),
        flag_option("--random", "random programs instead, made from the seed", random_),
        number_option("--cases", "how many random programs [100], or runs with faults [50]", cases_,
                      std::uint64_t{1}, std::uint64_t{1'000'000}),
        text_option("--faults", "FAULTS",
                    "instead, check that faults of processes are contained: kill, stop, exit, "
                    "exception, delay, restart, store, or a plan, as for run",
                    faults_),
        number_option("--case", "only this one of the runs with faults", case_, std::uint64_t{0},
                      std::numeric_limits<std::uint64_t>::max())};
    run_options_.add_parameters_to(options);
    run_options_.add_to(options, {"world", "backend", "seed", "timeout"});
    std::ranges::find(options, "--backend", &Option::name)->description = "the real backend [gloo]";
    options.push_back(
        {.name = "--against",
         .value_name = "NAME",
         .description = "sim, sim-gloo (bit for bit) or sim-nccl [sim; sim-nccl for "
                        "nccl]",
         .set = [this](std::string_view text) { simulator_ = parse_simulator(text); }});
    options.push_back(shards_.option());
    options.push_back(json_.option("the result as JSON"));
    options.push_back(flag_option("--quiet", "print nothing if they agree", quiet_));
    return options;
  }

  int run(CommandContext& context) override {
    check_choice();
    const std::string name = random_ ? "random" : program_;
    const ProgramSource source = find_program_source(context.programs, name);
    RunSpecification real = source.specification;
    real.backend = BackendKind::gloo;
    real = run_options_.applied_to(std::move(real));
    if (random_) {
      if (!faults_.empty()) real.parameters["cases"] = "10";
      real.parameters["seed"] = std::to_string(real.options.seed);
    }
    json_.open();
    if (!faults_.empty()) return run_faulted(source, real, context);
    AgreementReport report = random_ ? compare_random(source.program, real, context)
                                     : compare(source.program, real, context.binary);
    report.reproduce = reproduce(real, source.specification, context.binary);
    if (!report.agrees() && !report.shard.is_whole())
      report.reproduce += fmt::format(" --shard {}", harness::to_string(report.shard));
    if (!report.agrees() || !quiet_) context.out << to_string(report);
    context.out.flush();
    json_.write([&report] { return to_json(report).dump(2) + "\n"; });
    return report.agrees() ? exit_status::holds : exit_status::finding;
  }

 private:
  static BackendKind parse_simulator(std::string_view text) {
    const auto kind = parse_name(backend_names, text);
    if (kind && is_simulated(*kind)) return *kind;
    throw InvalidArgument(
        fmt::format("--against is '{}'; must be one of: sim, sim-gloo, sim-nccl", text));
  }

  void check_choice() const {
    if (random_ && !program_.empty())
      throw InvalidArgument("PROGRAM is '" + program_ + "', which --random excludes");
    if (!random_ && program_.empty())
      throw InvalidArgument("PROGRAM is missing; must be a name, a .toml file, or --random");
    if (cases_ && !random_ && faults_.empty())
      throw InvalidArgument("--cases needs --random or --faults");
    if (case_ && faults_.empty()) throw InvalidArgument("--case needs --faults");
    if (shards_.is_given() && ((!random_ && faults_.empty()) || case_))
      throw InvalidArgument("--shard needs the cases of --random or --faults");
  }

  // Every rank in a process of its own, one of which has a fault, in case after case.
  int run_faulted(const ProgramSource& source, const RunSpecification& real,
                  const CommandContext& context) {
    if (real.backend != BackendKind::gloo)
      throw InvalidArgument(fmt::format("--backend is '{}' with --faults; must be gloo",
                                        harness::to_string(real.backend)));
    const ProcessFaultCases::Draw draw = process_faults_called(faults_);
    RunSpecification faulted = real;
    if (!run_options_.is_given("timeout")) faulted.options.timeout = faulted_timeout;
    const std::uint64_t planned = case_ ? 1 : cases_.value_or(faulted_cases);
    const Shard shard = case_ ? Shard{} : shards_.announced(context.out);
    const Shard::Block block = shard.block_of(planned);
    const ProcessFaultCases cases{
        .name = faults_, .draw = draw, .first = case_.value_or(block.first), .count = block.count};
    std::size_t done = 0;
    const auto tell = [&](const FaultedCase& one) {
      if (!context.out_is_terminal || quiet_) return;
      context.out << fmt::format("\r\033[K  case {} of {}: {}", ++done, cases.count,
                                 one.problems.empty() ? "contained" : "broken");
      context.out.flush();
    };
    FaultedProcessesReport report = run_faulted_processes(source.program, faulted, cases, tell);
    if (done > 0) context.out << "\r\033[K";
    report.planned_cases = planned;
    report.shard = shard;
    report.reproduce = reproduce_faulted(report, faulted, source.specification, context.binary);
    if (!report.holds() || !quiet_) context.out << to_string(report);
    context.out.flush();
    json_.write([&report] { return to_json(report).dump(2) + "\n"; });
    return report.holds() ? exit_status::holds : exit_status::finding;
  }

  // Sim-nccl for nccl, as it rejects the same calls.
  static BackendKind usual_simulator(BackendKind real) {
    return real == BackendKind::nccl ? BackendKind::sim_nccl : BackendKind::sim;
  }

  BackendKind simulator(BackendKind real) const {
    return simulator_.value_or(usual_simulator(real));
  }

  // This shard's share of the random programs.
  AgreementReport compare_random(const Program& program, RunSpecification real,
                                 const CommandContext& context) const {
    const std::uint64_t cases = cases_.value_or(random_cases);
    const Shard shard = shards_.announced(context.out);
    const Shard::Block block = shard.block_of(cases);
    real.parameters["first"] = std::to_string(block.first);
    real.parameters["cases"] = std::to_string(block.count);
    AgreementReport report{.program = program.name,
                           .world_size = real.world_size.value_or(program.default_world_size),
                           .left = simulator(real.backend),
                           .right = real.backend,
                           .left_verdict = "completed",
                           .right_verdict = "completed",
                           .seed = real.options.seed};
    if (block.count > 0) report = compare(program, real, context.binary);
    report.cases = cases;
    report.shard = shard;
    return report;
  }

  AgreementReport compare(const Program& program, const RunSpecification& real,
                          std::string_view binary) const {
    const RunRecording recording{.outputs = KeepOutputs::data};
    RunSpecification simulated = real;
    simulated.backend = simulator(real.backend);
    const RunResult left = harness::run(program, simulated, recording, binary);
    RunSpecification bounded = real;
    if (verdict_of(left.report) == "stuck")
      bounded.options.timeout = std::min(real.options.timeout, stuck_timeout);
    const RunResult right = harness::run(program, bounded, recording, binary);
    return compare_runs(left, right);
  }

  std::string reproduce(const RunSpecification& real, const RunSpecification& baseline,
                        const std::string& binary) const {
    const std::string what =
        random_ ? fmt::format("--random --cases {}", cases_.value_or(random_cases)) : "";
    const BackendKind against = simulator(real.backend);
    return command_line(what, real, baseline, binary) +
           (against == usual_simulator(real.backend)
                ? ""
                : fmt::format(" --against {}", harness::to_string(against)));
  }

  // The first case that was not contained, else all of them.
  std::string reproduce_faulted(const FaultedProcessesReport& report, const RunSpecification& real,
                                const RunSpecification& baseline, const std::string& binary) const {
    const auto broken = std::ranges::find_if(
        report.cases, [](const FaultedCase& one) { return !one.problems.empty(); });
    std::string which = fmt::format("--cases {}", cases_.value_or(faulted_cases));
    if (case_ || broken != report.cases.end())
      which = fmt::format("--case {}", case_ ? *case_ : broken->index);
    return fmt::format("{} --faults {} {}",
                       command_line(random_ ? "--random" : "", real, baseline, binary),
                       shell_quoted(report.faults), which);
  }

  // "gangsim compare PROGRAM --world 4 ...": `random` instead of the program unless it is empty.
  static std::string command_line(const std::string& random, RunSpecification real,
                                  const RunSpecification& baseline, const std::string& binary) {
    if (!random.empty()) {
      real.parameters.erase("cases");
      real.parameters.erase("seed");
    }
    return fmt::format("{} compare {}{}", binary,
                       random.empty() ? shell_quoted(real.program) : random,
                       options_text(real, baseline));
  }

  static constexpr std::uint64_t random_cases = 100;
  static constexpr std::uint64_t faulted_cases = 50;

  std::string program_;
  bool random_ = false;
  std::optional<std::uint64_t> cases_;
  std::string faults_;
  std::optional<std::uint64_t> case_;
  RunOptions run_options_;
  std::optional<BackendKind> simulator_;
  ShardOption shards_;
  FileOption json_{"--json"};
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_compare_command(ReadEnvironment variables) {
  return std::make_unique<CompareCommand>(std::move(variables));
}

}  // namespace gang::harness
