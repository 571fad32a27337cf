#include <optional>
#include <ostream>

#include "gang/error.h"
#include "harness/commands/commands.h"
#include "harness/commands/cost_options.h"
#include "harness/explanation/coloured_text.h"
#include "harness/explanation/html_page.h"
#include "harness/explanation/run_sarif.h"
#include "harness/program_file/program_source.h"
#include "harness/recording/recorded_program.h"
#include "harness/run/run_file.h"
#include "harness/run/runner.h"
#include "harness/run/schedule_file.h"

namespace gang::harness {
namespace {

class RunCommand final : public Command {
 public:
  std::string name() const override { return "run"; }
  std::string description() const override { return "runs a program, or a .toml file, on N ranks"; }
  std::vector<std::string> examples() const override {
    return {"run all_reduce --world 1024",
            "run mesh --world 64 --set tp=4 --set pp=2",
            "run suspect.toml --schedule random --seed 7 --save-schedule s.json",
            "run suspect.toml --report out.html",
            "run suspect.toml --json - | jq .findings   # report: stderr",
            "run suspect.toml --sarif out.sarif",
            "run suspect.toml --record dumps/   # then: explain dumps/",
            "run dumps/ --backend sim-nccl      # what was recorded, again",
            "run ring --world 4 --sends buffered:4096 --trace out.trace.json",
            "run mesh --world 64 --set tp=4 --cost --ranks-per-node 8"};
  }

  std::vector<Option> options() override {
    std::vector<Option> options = {program_argument(program_)};
    options_.add_parameters_to(options);
    options_.add_to(options);
    options.push_back(json_.option("the run as JSON, for explain and for machines"));
    options.push_back(report_.option("the explanation as one HTML page"));
    options.push_back(sarif_.option("the findings as SARIF, for code review"));
    options.push_back(trace_.option("a Chrome trace, for Perfetto"));
    options.push_back(schedule_.option("the schedule, for replay"));
    options.push_back(text_option("--record", "FOLDER",
                                  "a Flight Recorder dump of every rank, for explain and for "
                                  "torchfrtrace of PyTorch",
                                  record_));
    cost_.add_to(options);
    options.push_back(
        text_option("--log-ranks", "RANKS",
                    "ranks whose log goes to standard error: all, none, or a list such "
                    "as 0,8-15 [0; none with --quiet]",
                    log_ranks_));
    options.push_back(flag_option("--quiet", "print nothing if all is well", quiet_));
    return options;
  }

  int run(CommandContext& context) override {
    const ProgramSource source = find_program_source(context.programs, program_);
    const RunSpecification specification = options_.applied_to(source.specification);
    const RankLog log{logged_ranks(source.program, specification), context.err};
    RunRecording recording = this->recording(specification);
    recording.log = &log;
    recording.neighbours = sim::Neighbours::all;
    for (FileOption* file : {&json_, &report_, &sarif_, &trace_, &schedule_}) file->open();
    const Program program = observed(source.program, specification);
    RunResult result = harness::run(program, specification, recording, context.binary);
    if (json_.is_given()) add_timeline(source.program, specification, result);
    result.reproduce = to_command_line(specification, context.binary, source.specification);
    if (!result.explore.empty())
      result.explore = to_explore_line(specification, context.binary, source.specification);
    // A file's expectation is for its own options.
    if (specification == source.specification)
      result.unexpected = unmet_expectation(source.expectation, result);
    const bool holds = result.holds() && result.unexpected.empty();
    const bool speaks = !holds || !quiet_;
    const TextStyle style = text_style(context.out_is_terminal);
    if (speaks) context.out << styled(marked_text(result), style);
    cost_.report(source.program, result, context.out);
    context.out.flush();  // Printed even if a file cannot be written.
    write_files(source, result);
    if (report_.names_file() && speaks) context.out << "  Report     " << report_.path() << '\n';
    return holds ? exit_status::holds : exit_status::finding;
  }

 private:
  // Both ways to look at a program leave a note of every rank, and a rank has one.
  Program observed(const Program& program, const RunSpecification& specification) {
    if (record_.empty()) return cost_.applied_to(program);
    if (cost_.are_given())
      throw InvalidArgument("--record cannot be combined with --cost or --cost-json");
    return recorded(program, runs_in_streams(specification));
  }

  RankSelection logged_ranks(const Program& program, const RunSpecification& specification) const {
    RankSelection ranks(log_ranks_.value_or(quiet_ ? "none" : "0"));
    ranks.check_within(specification.world_size.value_or(program.default_world_size));
    return ranks;
  }

  // Recording the timeline takes longer than a small operation, and the saved run contains times.
  RunRecording recording(const RunSpecification& specification) const {
    RunRecording recording;
    const bool saves_schedule = schedule_.is_given();
    if (saves_schedule) recording.schedule = sim::Recording::on;
    if (saves_schedule || trace_.is_given()) recording.trace = sim::Recording::on;
    const bool runs_once = specification.options.context == sim::ContextKind::parallel;
    if (report_.is_given() || (runs_once && json_.is_given()))
      recording.timeline = sim::Recording::on;
    return recording;
  }

  // From a second, equal run, if there is something to explain or it costs little.
  static void add_timeline(const Program& program, const RunSpecification& specification,
                           RunResult& result) {
    constexpr std::uint64_t most_operations_that_hold = 100'000;
    const sim::Report& report = result.report;
    if (!report.timeline.empty() || specification.options.context == sim::ContextKind::parallel)
      return;
    if (result.holds() && report.counts.rank_operations > most_operations_that_hold) return;
    if (!is_simulated(specification.backend)) return;
    result.report.timeline =
        harness::run(program, specification, {.timeline = sim::Recording::on}).report.timeline;
  }

  void write_files(const ProgramSource& source, const RunResult& result) {
    json_.write([&result] { return to_file_text(result); });
    report_.write([&result] { return to_html(result); });
    sarif_.write([&result] { return to_sarif_text("gangsim run", result); });
    trace_.write([&result] { return sim::to_chrome_trace(result.report.trace); });
    if (!record_.empty()) write_dumps(result, record_);
    schedule_.write([&] { return to_text(make_saved_schedule(source.program, result)); });
  }

  std::string program_;
  RunOptions options_;
  FileOption json_{"--json"};
  FileOption report_{"--report"};
  FileOption sarif_{"--sarif"};
  FileOption trace_{"--trace"};
  FileOption schedule_{"--save-schedule"};
  CostOptions cost_;
  std::string record_;
  std::optional<std::string> log_ranks_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace gang::harness
