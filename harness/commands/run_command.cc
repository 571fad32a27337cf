#include "harness/commands/run_command.h"

#include <optional>
#include <ostream>

#include <CLI/CLI.hpp>

#include "harness/commands/cost_options.h"
#include "harness/explanation/coloured_text.h"
#include "harness/explanation/html_page.h"
#include "harness/program_file/program_source.h"
#include "harness/run/run_file.h"
#include "harness/run/runner.h"
#include "harness/run/schedule_file.h"
#include "harness/text/output_file.h"

namespace gang::harness {
namespace {

// Opened before the run, so that a long one does not end in vain.
struct RunFiles {
  std::optional<OutputFile> json;
  std::optional<OutputFile> report;
  std::optional<OutputFile> trace;
  std::optional<OutputFile> schedule;
};

class RunCommand final : public Command {
 public:
  std::string name() const override { return "run"; }
  std::string description() const override { return "runs a program, or a .toml file, on N ranks"; }
  std::vector<std::string> examples() const override {
    return {"run all_reduce --world 1024",
            "run mesh --world 64 --set tp=4 --set pp=2",
            "run suspect.toml --schedule random --seed 7 --save-schedule s.json",
            "run suspect.toml --report out.html",
            "run ring --world 4 --sends buffered:4096 --json out.json --trace out.trace.json",
            "run mesh --world 64 --set tp=4 --cost --ranks-per-node 8 --log-ranks 0,63"};
  }

  void add_options(CLI::App& app) override {
    app.add_option("PROGRAM", program_, "a name from 'list programs', or a .toml file")->required();
    app.add_option("--set", assignments_, "a parameter of the program; may be repeated")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    const std::vector<RunOption>& options = run_options();
    texts_.resize(options.size());
    for (std::size_t i = 0; i < options.size(); ++i) add_option(app, options[i], texts_[i]);
    app.add_option("--json", json_path_, "the run as JSON, for explain and for machines")
        ->type_name("FILE");
    app.add_option("--report", report_path_, "the explanation as one HTML page")->type_name("FILE");
    app.add_option("--trace", trace_path_, "a Chrome trace, for Perfetto")->type_name("FILE");
    app.add_option("--save-schedule", schedule_path_, "the schedule, for replay")
        ->type_name("FILE");
    cost_.add_to(app);
    log_ranks_option_ =
        app.add_option("--log-ranks", log_ranks_,
                       "whose log to write to standard error: all, none, or as 0,8-15 [0]")
            ->type_name("RANKS");
    app.add_flag("--quiet", quiet_, "print nothing where all holds");
  }

  int run(CommandContext& context) override {
    const ProgramSource source = find_program_source(context.programs, program_);
    RunSpecification specification = source.specification;
    const std::vector<RunOption>& options = run_options();
    for (std::size_t i = 0; i < options.size(); ++i) {
      if (texts_[i]) options[i].set(specification, *texts_[i]);
    }
    for (const std::string& assignment : assignments_) set_parameter(specification, assignment);

    const RankLog log{logged_ranks(source.program, specification), context.err};
    RunRecording recording = this->recording(specification);
    recording.log = &log;
    RunFiles files = open_files();
    const Program program = cost_.applied_to(source.program);
    RunResult result = harness::run(program, specification, recording, context.binary);
    if (files.json) add_timeline(source.program, specification, result);
    result.reproduce = to_command_line(specification, context.binary, source.specification);
    // What a file expects, it expects of its own options.
    if (specification == source.specification)
      result.unexpected = unmet_expectation(source.expectation, result);
    const bool holds = result.holds() && result.unexpected.empty();
    const bool speaks = !holds || !quiet_;
    const TextStyle style = text_style(context.out_is_terminal);
    if (speaks) context.out << styled(to_string(result), style);
    cost_.report(source.program, result, context.out);
    context.out.flush();  // Said, whatever becomes of the files.
    write_files(files, source, result);
    if (files.report && speaks) context.out << "  Look       " << report_path_ << '\n';
    return holds ? exit_status::holds : exit_status::finding;
  }

 private:
  static void add_option(CLI::App& app, const RunOption& option, std::optional<std::string>& text) {
    const std::string name = "--" + option.name;
    if (option.form == RunOption::Form::flag) {
      app.add_flag_callback(name, [&text] { text = "true"; }, option.description);
    } else {
      app.add_option(name, text, option.description)->type_name(option.value_name);
    }
  }

  RunFiles open_files() const {
    RunFiles files;
    if (!json_path_.empty()) files.json.emplace("--json", json_path_);
    if (!report_path_.empty()) files.report.emplace("--report", report_path_);
    if (!trace_path_.empty()) files.trace.emplace("--trace", trace_path_);
    if (!schedule_path_.empty()) files.schedule.emplace("--save-schedule", schedule_path_);
    return files;
  }

  // Quiet, of nobody who is not asked for.
  RankSelection logged_ranks(const Program& program, const RunSpecification& specification) const {
    if (quiet_ && log_ranks_option_->empty()) return RankSelection();
    RankSelection ranks(log_ranks_);
    ranks.check_within(specification.world_size.value_or(program.default_world_size));
    return ranks;
  }

  // Keeping the timeline takes longer than a small operation does, and the saved run tells times.
  RunRecording recording(const RunSpecification& specification) const {
    RunRecording recording;
    const bool saves_schedule = !schedule_path_.empty();
    if (saves_schedule) recording.schedule = sim::Recording::on;
    if (saves_schedule || !trace_path_.empty()) recording.trace = sim::Recording::on;
    const bool runs_once = specification.context == sim::ContextKind::parallel;
    if (!report_path_.empty() || (runs_once && !json_path_.empty()))
      recording.timeline = sim::Recording::on;
    return recording;
  }

  // From a further run, which is the same, where there is something to explain or it costs little.
  static void add_timeline(const Program& program, const RunSpecification& specification,
                           RunResult& result) {
    constexpr std::uint64_t most_operations_that_hold = 100'000;
    const sim::Report& report = result.report;
    if (!report.timeline.empty() || specification.context == sim::ContextKind::parallel) return;
    if (result.holds() && report.counts.rank_operations > most_operations_that_hold) return;
    if (!specification.backend.starts_with("sim")) return;
    result.report.timeline =
        harness::run(program, specification, {.timeline = sim::Recording::on}).report.timeline;
  }

  static void write_files(RunFiles& files, const ProgramSource& source, const RunResult& result) {
    if (files.json) files.json->commit(to_file_text(result));
    if (files.report) files.report->commit(to_html(result));
    if (files.trace) files.trace->commit(sim::to_chrome_trace(result.report.trace));
    if (files.schedule)
      files.schedule->commit(to_text(make_saved_schedule(source.program, result)));
  }

  std::string program_;
  std::vector<std::string> assignments_;
  std::vector<std::optional<std::string>> texts_;  // beside run_options()
  std::string json_path_;
  std::string report_path_;
  std::string trace_path_;
  std::string schedule_path_;
  CostOptions cost_;
  std::string log_ranks_ = "0";
  CLI::Option* log_ranks_option_ = nullptr;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run_command() { return std::make_unique<RunCommand>(); }

}  // namespace gang::harness
