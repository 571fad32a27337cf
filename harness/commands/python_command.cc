#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/commands/commands.h"
#include "harness/commands/cost_options.h"
#include "harness/commands/exploration_options.h"
#include "harness/commands/rank_processes.h"
#include "harness/comparison/comparison.h"
#include "harness/conductor/conductor.h"
#include "harness/conductor/interrupt.h"
#include "harness/conductor/plain_run.h"
#include "harness/explanation/coloured_text.h"
#include "harness/explanation/html_page.h"
#include "harness/explanation/run_sarif.h"
#include "harness/run/decisive_choice.h"
#include "harness/run/exhaustive_runs.h"
#include "harness/run/judgement.h"
#include "harness/run/run_file.h"
#include "harness/run/runner.h"
#include "harness/run/schedule_file.h"
#include "harness/text/output_file.h"

namespace gang::harness {
namespace {

// Runs a program whose ranks are processes, with or without PyTorch.
class PythonCommand final : public Command {
 public:
  explicit PythonCommand(bool with_torch) : with_torch_(with_torch), ranks_(with_torch) {}

  std::string name() const override { return with_torch_ ? "torch" : "python"; }
  std::string description() const override {
    return with_torch_ ? "runs a PyTorch program, unchanged, on N simulated ranks"
                       : "runs a Python program that uses gangsim, a process per rank";
  }
  std::vector<std::string> examples() const override {
    if (!with_torch_)
      return {"python --world 4 gangs.py", "python --world 4 --schedule random --seed 7 gangs.py"};
    return {"torch --world 8 train.py --epochs 1",
            "torch --world 4 -m my_package.train",
            "torch --world 8 --schedule random --seed 3 --json run.json train.py",
            "torch --world 4 --faults plan.toml --report out.html train.py",
            "torch -- torchrun --nproc-per-node 8 train.py",
            "torch -- python3 spawns.py"};
  }
  std::string notes() const override {
    return "PROGRAM is a script or -m MODULE, with its arguments. Options of gangsim come before "
           "it; "
           "--faults, --replay and those for files to write are also taken from its arguments, "
           "unless these begin with --: PROGRAM -- ARGUMENTS.\n"
           "Each rank is a process; its collectives are carried out by the simulator. After --, a "
           "command of your own starts the ranks: torchrun, mpirun, a shell script, or python3 "
           "with a script that starts them itself, as with torch.multiprocessing.spawn.\n"
           "Ctrl-C ends the run and tells where each rank is.";
  }

  std::vector<Option> options() override {
    std::vector<Option> options = {ranks_.program_option()};
    run_options_.add_to(options, {"world", "seed", "schedule", "sends", "faults", "execution",
                                  "step-limit", "let-timeouts-fire"});
    for (Option& option : options) {
      if (option.name == "--world")
        option.description = fmt::format("number of ranks; after --, as COMMAND says [{}]",
                                         RankProcesses::default_world_size);
      option.is_taken_from_rest = option.name == "--faults";
    }
    options.push_back(json_.option("the run as JSON, for explain and for machines"));
    options.push_back(report_.option("the explanation as one HTML page"));
    options.push_back(sarif_.option("the findings as SARIF, for code review"));
    options.push_back(trace_.option("a Chrome trace, for Perfetto"));
    options.push_back(schedule_.option("the schedule, for --replay"));
    options.push_back(
        text_option("--replay", "FILE", "follow a schedule that --save-schedule wrote", replay_));
    options.back().is_taken_from_rest = true;
    options.push_back(number_option(
        "--explore",
        "run it under every schedule, as the command explore does, or N of them at most; stop at "
        "a failure, whose schedule --save-schedule keeps [explored.json]",
        runs_, std::uint64_t{1}, std::uint64_t{1'000'000}));
    for (Option option : {strategy_option(exploring_), budget_option(exploring_)}) {
      option.description = "with --explore: " + option.description;
      options.push_back(std::move(option));
    }
    options.push_back(flag_option(
        "--compare", "run it without gangsim, too, and compare what it passes to gangsim.output",
        compare_));
    cost_.add_to(options);
    ranks_.add_to(options);
    options.push_back(flag_option("--quiet", "print nothing if all is well", quiet_));
    return options;
  }

  int run(CommandContext& context) override {
    const RunSpecification given = run_options_.applied_to(baseline());
    check(given);
    for (FileOption* file : {&json_, &report_, &sarif_, &trace_, &schedule_}) file->open();
    ranks_.note_misplaced(context.err);
    Conductor conductor(ranks_.conductor_options(given), shown_ranks(), context.out, context.err);
    Program program;
    try {
      program = cost_.applied_to(prepare(conductor, given));
    } catch (const Interrupted& interrupted) {
      context.err << fmt::format("{}: {}: interrupted while waiting for {}\n", context.binary,
                                 name(), interrupted.what());
      return exit_status::interrupted;
    }
    RunSpecification specification = given;
    specification.program = program.name;
    specification.world_size = program.default_world_size;
    if (runs_) return explore(conductor, program, std::move(specification), context);
    if (compare_) return compare(conductor, program, specification, context);
    RunResult result = run_once(conductor, program, specification, context);
    // What a launcher says when its ranks have failed is long, and would hide the report.
    const bool ends_first =
        !ranks_.can_repeat() && !result.holds() && !conductor.turns().is_interrupted();
    bool ended_well = !ends_first || conductor.end_run(result.report, to_string(result));
    report(result, program, conductor, context);
    cost_.report(program, result, context.out);
    if (!ends_first) ended_well = conductor.end_run(result.report, to_string(result));
    if (conductor.turns().is_interrupted()) return exit_status::interrupted;
    return result.holds() && ended_well ? exit_status::holds : exit_status::finding;
  }

 private:
  // Starts what starts the ranks, and waits until their number is known.
  Program prepare(Conductor& conductor, const RunSpecification& given) const {
    const Interrupt ends_the_wait;
    conductor.set_launcher(ranks_.make_launcher(conductor));
    conductor.prepare_run(given.options.seed);
    return conductor.program(ranks_.program_name());
  }

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
    complete(result, conductor);
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
    RankOutput output(conductor.poller(), ranks_.shown("none"), context.out, context.err);
    const PlainRun real =
        run_plainly(conductor.poller(), ranks_.python_program(), *specification.world_size, output);
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

  // Runs the program under every schedule, or many, until it fails.
  int explore(Conductor& conductor, const Program& program, RunSpecification specification,
              CommandContext& context) {
    specification.schedule = ScheduleChoice::random;
    exploring_.schedules = *runs_;
    if (!schedule_.is_given()) explored_.open();
    const Interrupt tells_where_the_ranks_are;
    const Exploration exploration =
        harness::explore(program, specification, exploring_,
                         context.out_is_terminal ? terminal_progress(context.out, exploring_)
                                                 : ExplorationProgress{});
    if (context.out_is_terminal) context.out << "\r\033[K";
    const bool is_interrupted = conductor.turns().is_interrupted();
    if (!is_interrupted && (exploration.failure || !quiet_))
      context.out << summary_of(specification, exploration, *runs_);
    if (!exploration.failure) return exit_status::holds;
    context.out << '\n' << std::flush;
    const RunResult result =
        is_interrupted ? last_run(conductor, exploration, specification, context)
                       : failing_run(conductor, program, specification, exploration, context);
    show(result, conductor, context);
    write_files(result);
    conductor.end_run(result.report, to_string(result));
    return is_interrupted ? exit_status::interrupted : exit_status::finding;
  }

  // The failure as it was seen; its processes are those of the last run.
  RunResult last_run(Conductor& conductor, const Exploration& exploration,
                     const RunSpecification& plain, const CommandContext& context) const {
    RunResult result = *exploration.failure;
    complete(result, conductor);
    const bool is_seen_in_two = is_nondeterministic(result);
    result.reproduce = command_line(plain, context.binary,
                                    is_seen_in_two ? fmt::format(" --explore {}", *runs_) : "");
    return result;
  }

  // The failure once more, now explained; saves its schedule, where only that leads to it.
  RunResult failing_run(Conductor& conductor, const Program& program, RunSpecification plain,
                        const Exploration& exploration, CommandContext& context) {
    plain.options.seed = exploration.failure->specification.options.seed;
    if (exploration.detours) plain.schedule = ScheduleChoice::round_robin;
    if (!exploration.detours || exploration.detours->empty()) {
      RunResult again = run_once(conductor, program, plain, context);
      if (!again.holds()) {
        if (!exploration.sample && exploration.every)
          decisive_ = decisive_choice_of(*exploration.every);
        if (decisive_) context.out << to_text(decisive_) << '\n';
        if (exploration.every && exploration.every->holds_otherwise == true)
          sim::note_avoided(again.report);
        return again;
      }
      conductor.end_run(again.report, "");
    }
    if (!exploration.detours) return last_run(conductor, exploration, plain, context);
    ExplainedFailure failure = explain_schedule(program, exploration, context.binary,
                                                {.timeline = sim::Recording::on, .settles = false});
    FileOption& file = schedule_.is_given() ? schedule_ : explored_;
    file.write([&failure] { return to_text(*failure.schedule); });
    context.out << schedule_text(failure);
    if (failure.every) decisive_ = decisive_choice_of(*failure.every);
    RunSpecification replayed = baseline();
    replayed.world_size = plain.world_size;
    replay_ = file.path();
    failure.result.reproduce = command_line(replayed, context.binary);
    complete(failure.result, conductor);
    return std::move(failure.result);
  }

  void check(const RunSpecification& given) const {
    if ((runs_ || compare_) && !ranks_.can_repeat())
      throw InvalidArgument(
          "--explore and --compare need a program that gangsim starts: SCRIPT or -m MODULE");
    if (runs_ && ranks_.are_free())
      throw InvalidArgument("--explore needs runs that can be repeated; --free is given");
    if (!runs_ && (exploring_.budget || exploring_.strategy != Strategy::automatic))
      throw InvalidArgument(
          "--budget and --strategy choose the runs of --explore N, which is missing");
    if (runs_)
      check_strategy(exploring_, given,
                     given.world_size.value_or(RankProcesses::default_world_size));
    ranks_.check(given);
  }

  std::string command_line(const RunSpecification& specification, std::string_view binary) const {
    return command_line(specification, binary,
                        replay_.empty() ? "" : fmt::format(" --replay {}", shell_quoted(replay_)));
  }

  std::string command_line(const RunSpecification& specification, std::string_view binary,
                           std::string_view further) const {
    return fmt::format("{} {}{}{}{}{}", binary, name(), options_text(specification, baseline()),
                       ranks_.options_text(), further, ranks_.words_text());
  }

  RankSelection shown_ranks() const { return ranks_.shown(runs_ ? "none" : "0"); }

  void report(const RunResult& result, const Program& program, const Conductor& conductor,
              CommandContext& context) {
    show(result, conductor, context);
    write_files(result);
    schedule_.write([&] { return to_text(make_saved_schedule(program, result)); });
  }

  void show(const RunResult& result, const Conductor& conductor, CommandContext& context) const {
    const bool speaks = !result.holds() || !quiet_;
    if (speaks) {
      sim::MarkedText text = marked_text(result);
      add_other_orders(result, context, text);
      add_larger_world(result, context, text);
      context.out << styled(text, text_style(context.out_is_terminal));
    }
    if (!result.report.findings.empty() && !result.report.findings.front().ranks.empty()) {
      const int rank = result.report.findings.front().ranks.front();
      // At a terminal, that of a rank whose output is shown has just been read.
      const bool is_on_screen =
          context.out_is_terminal && ranks_.can_repeat() && shown_ranks().contains(rank);
      const std::string text = conductor.traceback_of(rank);
      if (!text.empty() && !is_on_screen)
        context.out << fmt::format("\nThe traceback of rank {}:\n\n{}", rank, text);
    }
    if (report_.names_file() && speaks) context.out << "  Report     " << report_.path() << '\n';
    context.out.flush();
  }

  void write_files(const RunResult& result) {
    json_.write([&result] { return to_file_text(result); });
    report_.write([&] { return to_html(result, decisive_); });
    sarif_.write([&] { return to_sarif_text("gangsim " + name(), result); });
    trace_.write([&result] { return sim::to_chrome_trace(result.report.trace); });
  }

  // What holds in this order of the ranks need not hold in another one.
  void add_other_orders(const RunResult& result, const CommandContext& context,
                        sim::MarkedText& text) const {
    if (!result.holds() || result.report.schedules == sim::Schedules::every || runs_ ||
        !replay_.empty() || !ranks_.can_repeat() || ranks_.are_free())
      return;
    text.add_command(
        "Contested",
        fmt::format("other orders of the ranks are possible; to try them: {}",
                    command_line(result.specification, context.binary, " --explore 1000")));
  }

  // Of two ranks that differ, the calls alone do not tell which one is wrong.
  void add_larger_world(const RunResult& result, const CommandContext& context,
                        sim::MarkedText& text) const {
    RunSpecification larger = result.specification;
    if (larger.world_size != 2 || !ranks_.can_repeat() || result.report.findings.empty()) return;
    const sim::Finding& finding = result.report.findings.front();
    if (finding.ranks.size() != 2 || !finding.divergence) return;
    larger.world_size = 4;
    text.add_command(
        "Two ranks",
        fmt::format("with two there is no majority; run four to see which one is wrong: {}",
                    command_line(larger, context.binary, "")));
  }

  // What is known of the processes.
  // Ranks that run freely, or wait for each other outside of calls, could take another course.
  void complete(RunResult& result, Conductor& conductor) const {
    conductor.complete(result.report);
    result.real_time = conductor.turns().real_time(result.report.outcome);
    if (ranks_.are_free() || !result.real_time.irreproducible.empty())
      result.is_in_every_schedule = false;
  }

  // PyTorch's groups have another timeout than gangs.
  RunSpecification baseline() const {
    RunSpecification specification;
    if (with_torch_) specification.options.timeout = std::chrono::minutes(30);
    specification.options.strict_labels = with_torch_;  // only barriers of PyTorch's own have some
    return specification;
  }

  const bool with_torch_;
  RankProcesses ranks_;
  RunOptions run_options_;
  FileOption json_{"--json"};
  FileOption report_{"--report"};
  std::optional<DecisiveChoice> decisive_;  // of the failure that an exploration has found
  FileOption sarif_{"--sarif"};
  FileOption trace_{"--trace"};
  FileOption schedule_{"--save-schedule"};
  FileOption explored_{"--save-schedule", "explored.json"};  // where --explore has no other
  CostOptions cost_;
  std::optional<std::uint64_t> runs_;  // to explore
  ExplorationOptions exploring_;
  std::string replay_;
  bool compare_ = false;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_python_command() { return std::make_unique<PythonCommand>(false); }

std::unique_ptr<Command> make_torch_command() { return std::make_unique<PythonCommand>(true); }

}  // namespace gang::harness
