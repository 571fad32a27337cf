#include <algorithm>
#include <array>
#include <optional>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/commands/commands.h"
#include "harness/commands/cost_options.h"
#include "harness/comparison/comparison.h"
#include "harness/conductor/conductor.h"
#include "harness/conductor/interrupt.h"
#include "harness/conductor/plain_run.h"
#include "harness/conductor/python.h"
#include "harness/explanation/coloured_text.h"
#include "harness/explanation/html_page.h"
#include "harness/explanation/run_sarif.h"
#include "harness/run/run_file.h"
#include "harness/run/runner.h"
#include "harness/run/schedule_file.h"
#include "harness/text/output_file.h"

namespace gang::harness {
namespace {

// Before a command that starts the ranks itself.
constexpr std::string_view own_command = "--";

// Options of gangsim that programs rarely have themselves.
constexpr std::array misplaced_options = {"--faults",  "--report",        "--replay",
                                          "--explore", "--save-schedule", "--log-ranks"};

// Runs a program whose ranks are processes, with or without PyTorch.
class PythonCommand final : public Command {
 public:
  explicit PythonCommand(bool with_torch) : with_torch_(with_torch) {}

  std::string name() const override { return with_torch_ ? "torch" : "python"; }
  std::string description() const override {
    return with_torch_ ? "runs a PyTorch program, unchanged, on N simulated ranks"
                       : "runs a Python program that uses gangsim, a process per rank";
  }
  std::vector<std::string> examples() const override {
    if (!with_torch_)
      return {"python --world 4 gangs.py", "python --world 4 --schedule random --seed 7 gangs.py"};
    return {"torch --world 8 train.py --epochs 1", "torch --world 4 -m my_package.train",
            "torch --world 8 --schedule random --seed 3 --json run.json train.py",
            "torch --world 4 --faults plan.toml --report out.html train.py",
            "torch -- torchrun --nproc-per-node 8 train.py"};
  }
  std::string notes() const override {
    return "PROGRAM is a script or -m MODULE, with its arguments: options of gangsim come before "
           "it.\n"
           "Each rank is a process; its collectives are carried out by the simulator. After --, a\n"
           "command of your own starts the ranks (torchrun, mpirun, a shell script). Ctrl-C ends\n"
           "the run and tells where each rank is.";
  }

  std::vector<Option> options() override {
    std::vector<Option> options = {
        rest_option("PROGRAM", "a script or -m MODULE, and its arguments; or -- COMMAND", words_)};
    run_options_.add_to(
        options, {"world", "seed", "schedule", "sends", "faults", "execution", "step-limit"});
    for (Option& option : options)
      if (option.name == "--world")
        option.description =
            fmt::format("number of ranks; after --, as COMMAND says [{}]", default_world_size);
    options.push_back(json_.option("the run as JSON, for explain and for machines"));
    options.push_back(report_.option("the explanation as one HTML page"));
    options.push_back(sarif_.option("the findings as SARIF, for code review"));
    options.push_back(trace_.option("a Chrome trace, for Perfetto"));
    options.push_back(schedule_.option("the schedule, for --replay"));
    options.push_back(
        text_option("--replay", "FILE", "follow a schedule that --save-schedule wrote", replay_));
    options.push_back(number_option(
        "--explore",
        "run N times under random schedules, each with the next seed; stop at a failure", runs_,
        std::uint64_t{1}, std::uint64_t{1'000'000}));
    options.push_back(flag_option(
        "--compare", "run it without gangsim, too, and compare what it passes to gangsim.output",
        compare_));
    cost_.add_to(options);
    options.push_back(text_option("--python", "FILE",
                                  with_torch_
                                      ? "the interpreter [the first python3 of PATH with torch]"
                                      : "the interpreter [the first python3 of PATH]",
                                  python_));
    if (with_torch_)
      options.push_back(
          flag_option("--threads", "ranks are threads of one process (PyTorch 2)", threads_));
    options.push_back(flag_option("--spawn", "a separate interpreter for each rank", spawn_));
    options.push_back(
        flag_option("--free", "take requests as they come: faster, but not reproducible", free_));
    options.push_back(text_option("--attach", "SOCKET",
                                  "start no processes: ranks connect to this socket themselves",
                                  attach_));
    if (with_torch_)
      options.push_back(flag_option(
          "--cuda-as-cpu", "run code that asks for CUDA devices on the processor", cuda_as_cpu_));
    options.push_back(text_option(
        "--log-ranks", "RANKS",
        "ranks whose output is shown: all, none, or a list such as 0,8-15 [0]", log_ranks_));
    options.push_back(flag_option("--quiet", "print nothing if all is well", quiet_));
    return options;
  }

  int run(CommandContext& context) override {
    const RunSpecification given = run_options_.applied_to(baseline());
    check(given);
    for (FileOption* file : {&json_, &report_, &sarif_, &trace_, &schedule_}) file->open();
    note_misplaced(context.err);
    RankSelection ranks(log_ranks_.value_or(runs_ ? "none" : "0"));
    Conductor conductor(conductor_options(given), std::move(ranks), context.out, context.err);
    conductor.set_launcher(make_launcher(conductor));
    conductor.prepare_run(given.options.seed);
    const Program program = cost_.applied_to(conductor.program(program_name()));
    RunSpecification specification = given;
    specification.program = program.name;
    specification.world_size = program.default_world_size;
    if (runs_) return explore(conductor, program, std::move(specification), context);

    if (compare_) return compare(conductor, program, specification, context);

    RunResult result = run_once(conductor, program, specification, context);
    report(result, program, conductor, context);
    cost_.report(program, result, context.out);
    const bool ended_well = conductor.end_run(result.report, to_string(result));
    if (conductor.turns().is_interrupted()) return exit_status::interrupted;
    return result.holds() && ended_well ? exit_status::holds : exit_status::finding;
  }

 private:
  RunResult run_once(Conductor& conductor, const Program& program,
                     const RunSpecification& specification, const CommandContext& context) {
    // Who is to blame is told from the timeline; no further run is made.
    RunRecording recording{.timeline = sim::Recording::on, .settles = false};
    if (compare_) recording.outputs = KeepOutputs::data;
    if (schedule_.is_given()) recording.schedule = sim::Recording::on;
    if (trace_.is_given() || schedule_.is_given()) recording.trace = sim::Recording::on;
    conductor.prepare_run(specification.options.seed);
    const Interrupt tells_where_the_ranks_are;
    RunResult result = replay_.empty()
                           ? harness::run(program, specification, recording, context.binary)
                           : replayed(program, recording, context);
    result.reproduce = command_line(specification, context.binary);
    conductor.complete(result.report);
    return result;
  }

  RunResult replayed(const Program& program, RunRecording recording,
                     const CommandContext& context) const {
    SavedSchedule saved = read_schedule_file(replay_);
    saved.specification.options.strict_labels = with_torch_;
    recording.trace = sim::Recording::on;
    RunResult result =
        replay(program, saved.specification, saved.schedule, recording, context.binary);
    if (const auto divergence = first_divergence(saved, program, result))
      throw InvalidArgument(fmt::format("{}: {}", replay_, *divergence));
    return result;
  }

  // Simulated, then as it is, on whatever backend the program asks for.
  int compare(Conductor& conductor, const Program& program, const RunSpecification& specification,
              CommandContext& context) {
    const RunResult simulated = run_once(conductor, program, specification, context);
    if (!simulated.holds()) {
      report(simulated, program, conductor, context);
      conductor.end_run(simulated.report, to_string(simulated));
      return exit_status::finding;
    }
    conductor.end_run(simulated.report, "");
    RankOutput output(conductor.poller(), RankSelection(log_ranks_.value_or("none")), context.out,
                      context.err);
    const PlainRun real =
        run_plainly(conductor.poller(), python_program(), *specification.world_size, output);
    const Tolerance tolerance{2.0 * (*specification.world_size - 1),
                              Tolerance::RelativeTo::largest_of_output};
    std::string difference = real.failure;
    if (difference.empty())
      if (const auto found = first_difference(simulated.outputs, real.outputs, tolerance))
        difference = to_string(*found, "gangsim", "the real backend");
    std::size_t outputs = 0;
    for (const auto& rank : simulated.outputs.by_rank) outputs += rank.size();
    if (difference.empty() && outputs == 0)
      difference = "no rank called gangsim.output: there is nothing to compare";
    if (!difference.empty() || !quiet_)
      context.out << fmt::format(
          "{}  {}, world {}\n\n  {}\n", difference.empty() ? "AGREE" : "DIFFER", program.name,
          *specification.world_size,
          difference.empty() ? fmt::format("{} outputs of {} ranks, simulated and real", outputs,
                                           *specification.world_size)
                             : difference);
    return difference.empty() ? exit_status::holds : exit_status::finding;
  }

  // Runs the program under one random schedule after another, until it fails.
  int explore(Conductor& conductor, const Program& program, RunSpecification specification,
              CommandContext& context) {
    specification.schedule = ScheduleChoice::random;
    const std::uint64_t first = specification.options.seed;
    for (std::uint64_t run = 0; run < *runs_; ++run) {
      specification.options.seed = first + run;
      if (context.out_is_terminal)
        context.out << fmt::format("\r\033[K{} of {} runs", run, *runs_) << std::flush;
      RunResult result = run_once(conductor, program, specification, context);
      if (context.out_is_terminal) context.out << "\r\033[K";
      if (!result.holds()) {
        context.out << fmt::format("FAILED  {}, run {} of {}, seed {}\n\n", program.name, run + 1,
                                   *runs_, specification.options.seed);
        report(result, program, conductor, context);
        conductor.end_run(result.report, to_string(result));
        return conductor.turns().is_interrupted() ? exit_status::interrupted : exit_status::finding;
      }
      conductor.end_run(result.report, "");
    }
    if (!quiet_)
      context.out << fmt::format("HELD  {}, {} runs, seeds {} to {}\n", program.name, *runs_, first,
                                 first + *runs_ - 1);
    return exit_status::holds;
  }

  void check(const RunSpecification& given) const {
    const bool cannot_repeat =
        !attach_.empty() || threads_ || (!words_.empty() && words_.front() == own_command);
    if ((runs_ || compare_) && cannot_repeat)
      throw InvalidArgument(
          "--explore and --compare need a program that gangsim starts: SCRIPT or -m MODULE");
    if (!attach_.empty()) {
      if (!words_.empty()) throw InvalidArgument("--attach starts no process; PROGRAM is given");
      if (!given.world_size) throw InvalidArgument("--attach needs --world");
      return;
    }
    if (words_.empty()) throw InvalidArgument("PROGRAM is missing: a script, or -m MODULE");
    if (words_.front() == own_command && words_.size() == 1)
      throw InvalidArgument("a command is missing after --");
    if (words_.front() == "-m" && words_.size() == 1)
      throw InvalidArgument("-m needs the name of a module");
  }

  // Whatever stands behind the program is its own, even where it looks like ours.
  void note_misplaced(std::ostream& err) const {
    if (words_.empty() || words_.front() == own_command) return;
    for (const std::string& word : words_)
      if (std::ranges::find(misplaced_options, word) != misplaced_options.end())
        err << fmt::format(
            "gangsim: note: {} comes after the program, so the program gets it; options of gangsim "
            "come before the program\n",
            word);
  }

  ConductorOptions conductor_options(const RunSpecification& given) const {
    const bool is_own_command = !words_.empty() && words_.front() == own_command;
    ConductorOptions options{.socket = attach_, .world_size = given.world_size};
    if (!options.world_size && !is_own_command) options.world_size = default_world_size;
    options.turns.is_free = free_;
    options.turns.interrupt = &Interrupt::has_come();
    return options;
  }

  // What processes need to find the client, and the conductor.
  ProcessEnvironment environment(const Conductor& conductor, const std::string& packages) const {
    const EnvironmentVariables variables = process_environment();
    const auto path = variables.find("PYTHONPATH");
    ProcessEnvironment environment = {
        {"GANGSIM_SOCKET", conductor.socket()},
        {"PYTHONPATH",
         packages + "/site:" + packages + (path == variables.end() ? "" : ":" + path->second)}};
    // The order of sets must not differ from run to run.
    if (!variables.contains("PYTHONHASHSEED")) environment["PYTHONHASHSEED"] = "0";
    if (!variables.contains("OMP_NUM_THREADS")) environment["OMP_NUM_THREADS"] = "1";
    if (cuda_as_cpu_) environment["GANGSIM_CUDA_AS_CPU"] = "1";
    if (threads_) environment["GANGSIM_LOG_RANKS"] = log_ranks_.value_or("0");
    return environment;
  }

  std::unique_ptr<RankLauncher> make_launcher(Conductor& conductor) const {
    if (!attach_.empty()) return std::make_unique<NoLauncher>();
    const std::string packages = find_packages();
    const ProcessEnvironment variables = environment(conductor, packages);
    if (words_.front() == own_command)
      return std::make_unique<CommandLauncher>(
          conductor.poller(), std::vector<std::string>(words_.begin() + 1, words_.end()),
          variables);
    const PythonProgram program = python_program();
    if (threads_)
      return std::make_unique<CommandLauncher>(
          conductor.poller(), words_for_threads(program, conductor.world_size()), variables);
    if (spawn_)
      return std::make_unique<SpawnLauncher>(conductor.poller(), program, variables,
                                             conductor.events());
    return std::make_unique<ForkLauncher>(conductor.poller(), program, variables,
                                          conductor.events());
  }

  PythonProgram python_program() const {
    return {.python = find_python(python_, with_torch_ ? "torch" : ""),
            .packages = find_packages(),
            .with_torch = with_torch_,
            .words = words_};
  }

  std::string program_name() const {
    if (words_.empty()) return "attached ranks";
    return words_.front() == "-m" || words_.front() == own_command ? words_[1] : words_.front();
  }

  std::string command_line(const RunSpecification& specification, std::string_view binary) const {
    std::string text =
        fmt::format("{} {}{}", binary, name(), options_text(specification, baseline()));
    for (const auto& [is_given, flag] :
         {std::pair{threads_, "--threads"}, std::pair{spawn_, "--spawn"},
          std::pair{free_, "--free"}, std::pair{cuda_as_cpu_, "--cuda-as-cpu"}})
      if (is_given) text += fmt::format(" {}", flag);
    for (const auto& [value, option] :
         {std::pair{&python_, "--python"}, std::pair{&attach_, "--attach"},
          std::pair{&replay_, "--replay"}})
      if (!value->empty()) text += fmt::format(" {} {}", option, shell_quoted(*value));
    for (const std::string& word : words_) text += " " + shell_quoted(word);
    return text;
  }

  void report(const RunResult& result, const Program& program, const Conductor& conductor,
              CommandContext& context) {
    const bool speaks = !result.holds() || !quiet_;
    if (speaks) {
      context.out << styled(marked_text(result), text_style(context.out_is_terminal));
      note_turns(conductor.turns(), result, context.out);
    }
    if (!result.report.findings.empty() && !result.report.findings.front().ranks.empty()) {
      const int rank = result.report.findings.front().ranks.front();
      if (const std::string text = conductor.traceback_of(rank); !text.empty())
        context.out << fmt::format("\nThe traceback of rank {}:\n\n{}", rank, text);
    }
    context.out.flush();
    json_.write([&result] { return to_file_text(result); });
    report_.write([&result] { return to_html(result); });
    sarif_.write([&] { return to_sarif_text("gangsim " + name(), result); });
    trace_.write([&result] { return sim::to_chrome_trace(result.report.trace); });
    schedule_.write([&] { return to_text(make_saved_schedule(program, result)); });
    if (report_.names_file() && speaks) context.out << "  Report     " << report_.path() << '\n';
  }

  static void note_turns(const Turns& turns, const RunResult& result, std::ostream& out) {
    if (!turns.stuck_ranks().empty() && result.report.outcome == sim::Outcome::deadlock) {
      const std::string ranks =
          turns.stuck_ranks().size() == 1
              ? fmt::format("rank {} is", turns.stuck_ranks().front())
              : fmt::format("ranks {} are", sim::to_rank_ranges(turns.stuck_ranks()));
      out << (turns.is_interrupted()
                  ? fmt::format("  Interrupted  {} outside of any call, and might have gone on\n",
                                ranks)
                  : fmt::format("  Probable   {} outside of any call and idle; nothing more is "
                                "known\n",
                                ranks));
    }
    if (!turns.irreproducible().empty())
      out << fmt::format("  Note       not reproducible: {}\n", turns.irreproducible());
  }

  // PyTorch's groups have another timeout than gangs.
  RunSpecification baseline() const {
    RunSpecification specification;
    if (with_torch_) specification.options.timeout = std::chrono::minutes(30);
    specification.options.strict_labels = with_torch_;  // only barriers of PyTorch's own have some
    return specification;
  }

  static constexpr int default_world_size = 2;

  const bool with_torch_;
  std::vector<std::string> words_;
  RunOptions run_options_;
  FileOption json_{"--json"};
  FileOption report_{"--report"};
  FileOption sarif_{"--sarif"};
  FileOption trace_{"--trace"};
  FileOption schedule_{"--save-schedule"};
  CostOptions cost_;
  std::string python_;
  std::string attach_;
  std::optional<std::string> log_ranks_;
  std::optional<std::uint64_t> runs_;  // to explore
  std::string replay_;
  bool spawn_ = false;
  bool threads_ = false;
  bool compare_ = false;
  bool free_ = false;
  bool cuda_as_cpu_ = false;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_python_command() { return std::make_unique<PythonCommand>(false); }

std::unique_ptr<Command> make_torch_command() { return std::make_unique<PythonCommand>(true); }

}  // namespace gang::harness
