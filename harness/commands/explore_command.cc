#include <algorithm>
#include <filesystem>
#include <ostream>
#include <thread>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/commands/commands.h"
#include "harness/commands/exploration_files.h"
#include "harness/commands/shard_option.h"
#include "harness/explanation/coloured_text.h"
#include "harness/program_file/program_source.h"
#include "harness/run/exploration.h"
#include "harness/run/exploration_record.h"
#include "harness/text/number_text.h"

namespace gang::harness {
namespace {

class ExploreCommand final : public Command {
 public:
  explicit ExploreCommand(ReadEnvironment variables) : shards_(std::move(variables)) {}

  std::string name() const override { return "explore"; }
  std::string description() const override {
    return "runs a program under many schedules and faults until one fails";
  }
  std::vector<std::string> examples() const override {
    return {"explore ring --world 8 --schedules 1000",
            "explore data_parallel_step --world 8 --faults production --schedules 20000 --seed 1",
            "explore every_collective --world 5 --faults swarm --schedules 5000 --jobs 2",
            "explore suspect.toml --faults plan.toml --save found.toml",
            "explore suspect.toml --schedules 1000000 --shard 3/8 --json shards/3.json"};
  }

  std::vector<Option> options() override {
    options_.jobs = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 256U));
    std::vector<Option> options = {
        program_argument(program_),
        number_option("--schedules", "runs, each with the next seed [1000]", options_.schedules,
                      std::uint64_t{1}, std::uint64_t{1'000'000'000}),
        number_option("--jobs", "threads, 1 to 256 [one per core]", options_.jobs, 1, 256),
        save_.option("where to save a failure, as a scenario [explored.toml]"), shards_.option()};
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
    ExplorationRecord record{.specification = specification,
                             .fingerprint = fingerprint(source.program),
                             .schedules = options_.schedules,
                             .shard = shards_.announced(context.out)};
    const Shard::Block block = record.shard.block_of(options_.schedules);
    specification.options.seed += block.first;
    options_.schedules = block.count;
    save_.open();
    files_.open();

    const Exploration exploration =
        explore(source.program, specification, options_,
                context.out_is_terminal ? progress(context.out) : Progress{});
    if (context.out_is_terminal) context.out << "\r\033[K";
    record.coverage = exploration.coverage;
    record.wall_time = exploration.wall_time;
    if (!exploration.failure) {
      context.out << summary("HELD", specification, exploration) << std::flush;
      files_.write(record);
      return exit_status::holds;
    }
    context.out << summary("FAILED", specification, exploration) << '\n' << std::flush;
    const SmallerFailure smaller = shrink_failure(source.program, *exploration.failure);
    save(context, *exploration.failure, smaller);
    record.failing_seed = exploration.failure->specification.options.seed;
    record.failure = smaller.result;
    files_.write(record);
    return exit_status::finding;
  }

 private:
  using Progress = std::function<void(const ExplorationCoverage&)>;

  Progress progress(std::ostream& out) const {
    return [this, &out](const ExplorationCoverage& coverage) {
      std::uint64_t fired = 0;
      for (const auto& [kind, counts] : coverage.kinds) fired += counts.fired;
      out << fmt::format("\r\033[K{} of {} runs, {} faults happened, {} ended with typed errors",
                         grouped(coverage.runs), grouped(options_.schedules), grouped(fired),
                         grouped(coverage.typed_errors))
          << std::flush;
    };
  }

  std::string summary(std::string_view verdict, const RunSpecification& specification,
                      const Exploration& exploration) const {
    const ExplorationCoverage& coverage = exploration.coverage;
    if (options_.schedules == 0)
      return fmt::format("{}  {}, no run: there are more shards than schedules\n", verdict,
                         program_);
    std::string text = fmt::format(
        "{}  {}, {} to {}\n\n", verdict, program_,
        specification.options.seed == specification.options.seed + options_.schedules - 1
            ? "seed"
            : fmt::format("seeds {}", specification.options.seed),
        specification.options.seed + options_.schedules - 1);
    text += fmt::format(
        "  {} run{}, {} operations by ranks; {} real\n", grouped(coverage.runs),
        coverage.runs == 1 ? "" : "s", grouped(coverage.rank_operations),
        gang::to_string(std::chrono::floor<std::chrono::milliseconds>(exploration.wall_time)));
    return text + coverage_text(coverage, specification.faults.has_value());
  }

  void save(CommandContext& context, const RunResult& found, const SmallerFailure& smaller) {
    const RunResult& result = smaller.result;
    const std::string what = result.uncontained.empty()
                                 ? std::string(to_string(result.report.outcome))
                                 : result.uncontained;
    const auto is_program = [&context](const std::string& name) {
      return std::ranges::find(context.programs, name, &Program::name) != context.programs.end();
    };
    const std::string program =
        is_program(program_) ? program_ : std::filesystem::absolute(program_).string();
    save_.write([&] {
      return to_scenario(
          result, program,
          fmt::format("Found by explore at seed {}: {}.", found.specification.options.seed, what));
    });
    RunResult shown = result;
    if (save_.names_file())
      shown.reproduce = fmt::format("{} run {}", context.binary, shell_quoted(save_.path()));
    context.out << styled(marked_text(shown), text_style(context.out_is_terminal))
                << fmt::format("\n  Shrunk in {} steps of {} attempts, from seed {}.\n",
                               smaller.steps, smaller.attempts, found.specification.options.seed);
  }

  std::string program_;
  ExplorationOptions options_;
  FileOption save_{"--save", "explored.toml"};
  ShardOption shards_;
  ExplorationFiles files_;
  RunOptions run_options_;
};

}  // namespace

std::unique_ptr<Command> make_explore_command(ReadEnvironment variables) {
  return std::make_unique<ExploreCommand>(std::move(variables));
}

}  // namespace gang::harness
