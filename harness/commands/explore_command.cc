#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <thread>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/commands/commands.h"
#include "harness/commands/exploration_files.h"
#include "harness/commands/exploration_options.h"
#include "harness/commands/shard_option.h"
#include "harness/explanation/coloured_text.h"
#include "harness/program_file/program_source.h"
#include "harness/run/exhaustive_runs.h"
#include "harness/run/exploration.h"
#include "harness/run/exploration_record.h"
#include "harness/run/judgement.h"
#include "harness/text/number_text.h"

namespace gang::harness {
namespace {

class ExploreCommand final : public Command {
 public:
  explicit ExploreCommand(ReadEnvironment variables) : shards_(std::move(variables)) {}

  std::string name() const override { return "explore"; }
  std::string description() const override {
    return "runs a program under all schedules or many, until one fails";
  }
  std::vector<std::string> examples() const override {
    return {"explore ring --world 64",
            "explore lost_wakeup --strategy exhaustive --save found.json",
            "explore lost_wakeup --report page.html",
            "explore trainer --strategy random --schedules 100000 --budget 60s",
            "explore lost_wakeup --world 8 --strategy pct:3 --schedules 100000",
            "explore fsdp --world 8 --backend sim-nccl",
            "explore ring --world 3 --faults one_crash",
            "explore data_parallel_step --world 8 --faults production",
            "explore every_collective --world 5 --faults swarm --jobs 2",
            "explore suspect.toml --faults plan.toml --save found.toml",
            "explore suspect.toml --shard 3/8 --json shards/3.json"};
  }

  std::vector<Option> options() override {
    options_.jobs = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 256U));
    std::vector<Option> options = {
        program_argument(program_),
        number_option("--schedules",
                      "runs at most; drawn ones each with the next seed "
                      "[1000; with --budget, as many as that allows]",
                      schedules_, std::uint64_t{1}, any_schedules),
        strategy_option(options_),
        budget_option(options_),
        number_option("--jobs", "threads, 1 to 256 [one per core]", options_.jobs, 1, 256),
        save_.option(
            "where to save a failure: as a scenario [explored.toml], or as the schedule that "
            "leads to it [explored.json]"),
        shards_.option()};
    files_.add_to(options);
    run_options_.add_parameters_to(options);
    run_options_.add_to(options);
    return options;
  }

  int run(CommandContext& context) override {
    const ProgramSource source = find_program_source(context.programs, program_);
    RunSpecification specification = source.specification;
    specification.schedule = ScheduleChoice::random;
    specification = run_options_.applied_to(std::move(specification));
    if (specification.options.context == sim::ContextKind::parallel)
      throw InvalidArgument(
          "--context is 'parallel', where the operating system schedules; must be one of: fiber, "
          "thread");
    check_strategy(options_, specification,
                   specification.world_size.value_or(source.program.default_world_size));
    options_.schedules = schedules_.value_or(options_.schedules);
    ExplorationRecord record{.specification = specification,
                             .fingerprint = fingerprint(source.program),
                             .schedules = options_.schedules};
    record.shard = take_share(specification, context);
    for (FileOption* file : {&scenario_file(), &schedule_file()}) file->open();
    files_.open();

    const Exploration exploration = explore(
        source.program, specification, options_,
        context.out_is_terminal ? terminal_progress(context.out, options_) : ExplorationProgress{});
    if (context.out_is_terminal) context.out << "\r\033[K";
    context.out << summary_of(specification, exploration, options_.schedules);
    record.coverage = exploration.coverage;
    if (options_.schedules == any_schedules)
      record.schedules = std::max<std::uint64_t>(1, exploration.coverage.runs);
    record.wall_time = exploration.wall_time;
    record.claim = exploration.claim;
    record.exhaustive = exhaustive_search_of(exploration);
    record.sample = exploration.sample;
    if (exploration.failure) {
      context.out << '\n' << std::flush;
      report_failure(source.program, exploration, context, record);
    }
    context.out.flush();
    files_.write(record);
    if (exploration.failure && files_.report().names_file())
      context.out << "  Report     " << files_.report().path() << '\n';
    return exploration.failure ? exit_status::finding : exit_status::holds;
  }

 private:
  FileOption& scenario_file() { return save_.is_given() ? save_ : scenario_; }
  FileOption& schedule_file() { return save_.is_given() ? save_ : schedule_; }

  // Leaves the runs of this process: those of its shard, or all that a budget of time allows.
  // Exhaustive runs depend on each other.
  Shard take_share(RunSpecification& specification, const CommandContext& context) {
    const Shard shard = shards_.announced(context.out);
    if (shard.is_whole()) {
      if (options_.budget && !schedules_) options_.schedules = any_schedules;
      return shard;
    }
    if (options_.strategy == Strategy::exhaustive)
      throw InvalidArgument(
          "--strategy is 'exhaustive', which cannot be divided into shards; give --shard 0/1");
    if (options_.strategy == Strategy::automatic) options_.strategy = Strategy::random;
    const Shard::Block block = shard.block_of(options_.schedules);
    specification.options.seed += block.first;
    options_.schedules = block.count;
    return shard;
  }

  // Saves and shows it: the schedule that leads to it, or a scenario made smaller.
  void report_failure(const Program& program, const Exploration& exploration,
                      CommandContext& context, ExplorationRecord& record) {
    const RunRecording recording{.timeline = files_.report().is_given() ? sim::Recording::on
                                                                        : sim::Recording::off};
    ExplainedFailure failure = explain_failure(program, exploration, context.binary, recording);
    if (failure.schedule) {
      save_schedule(context, failure);
      if (failure.every) record.decisive = decisive_choice_of(*failure.every);
    } else {
      save_scenario(context, *exploration.failure, failure);
      record.failing_seed = exploration.failure->specification.options.seed;
    }
    record.failure = std::move(failure.result);
  }

  void save_schedule(CommandContext& context, ExplainedFailure& failure) {
    context.out << schedule_text(failure);
    schedule_file().write([&failure] { return to_text(*failure.schedule); });
    failure.result.reproduce =
        fmt::format("{} replay {}", context.binary, shell_quoted(schedule_file().path()));
    context.out << styled(marked_text(failure.result), text_style(context.out_is_terminal));
  }

  void save_scenario(CommandContext& context, const RunResult& found,
                     const ExplainedFailure& smaller) {
    const RunResult& result = smaller.result;
    const std::string what = result.uncontained.empty()
                                 ? std::string(to_string(result.report.outcome))
                                 : result.uncontained;
    const auto is_program = [&context](const std::string& name) {
      return std::ranges::find(context.programs, name, &Program::name) != context.programs.end();
    };
    const std::string program =
        is_program(program_) ? program_ : std::filesystem::absolute(program_).string();
    scenario_file().write([&] {
      return to_scenario(
          result, program,
          fmt::format("Found by explore at seed {}: {}.", found.specification.options.seed, what));
    });
    RunResult shown = result;
    if (scenario_file().names_file())
      shown.reproduce =
          fmt::format("{} run {}", context.binary, shell_quoted(scenario_file().path()));
    context.out << styled(marked_text(shown), text_style(context.out_is_terminal))
                << fmt::format("\n  Shrunk in {} of {}, from seed {}.\n",
                               grouped(smaller.steps, "step"), grouped(smaller.attempts, "attempt"),
                               found.specification.options.seed);
  }

  std::string program_;
  ExplorationOptions options_;
  std::optional<std::uint64_t> schedules_;  // as asked for
  FileOption save_{"--save"};
  FileOption scenario_{"--save", "explored.toml"};  // where --save is not given
  FileOption schedule_{"--save", "explored.json"};
  ShardOption shards_;
  ExplorationFiles files_;
  RunOptions run_options_;
};

}  // namespace

std::unique_ptr<Command> make_explore_command(ReadEnvironment variables) {
  return std::make_unique<ExploreCommand>(std::move(variables));
}

}  // namespace gang::harness
