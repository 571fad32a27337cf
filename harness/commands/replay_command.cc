#include "harness/commands/replay_command.h"

#include <optional>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "gang/error.h"
#include "harness/explanation/coloured_text.h"
#include "harness/explanation/html_page.h"
#include "harness/program_file/program_source.h"
#include "harness/run/run_file.h"
#include "harness/run/runner.h"
#include "harness/run/schedule_file.h"
#include "harness/text/output_file.h"

namespace gang::harness {
namespace {

class ReplayCommand final : public Command {
 public:
  std::string name() const override { return "replay"; }
  std::string description() const override { return "runs a saved schedule again, step by step"; }
  std::vector<std::string> examples() const override {
    return {"replay s.json", "replay s.json --json out.json --report out.html"};
  }

  void add_options(CLI::App& app) override {
    app.add_option("FILE", path_, "what run --save-schedule has written")->required();
    app.add_option("--json", json_path_, "the run as JSON, for explain and for machines")
        ->type_name("FILE");
    app.add_option("--report", report_path_, "the explanation as one HTML page")->type_name("FILE");
    app.add_flag("--quiet", quiet_, "print nothing where all holds");
  }

  int run(CommandContext& context) override {
    const SavedSchedule saved = read_schedule();
    const ProgramSource source = find_program_source(context.programs, saved.specification.program);
    std::optional<OutputFile> json;
    std::optional<OutputFile> report;
    if (!json_path_.empty()) json.emplace("--json", json_path_);
    if (!report_path_.empty()) report.emplace("--report", report_path_);

    RunRecording recording{.trace = sim::Recording::on};
    if (json || report) recording.timeline = sim::Recording::on;
    RunResult result =
        replay(source.program, saved.specification, saved.schedule, recording, context.binary);
    if (const auto divergence = first_divergence(saved, source.program, result)) {
      throw InvalidArgument(fmt::format("{}: {}", path_, *divergence));
    }
    result.reproduce = fmt::format("{} replay {}", context.binary, shell_quoted(path_));
    const bool speaks = !result.holds() || !quiet_;
    if (json) json->commit(to_file_text(result));
    if (report) report->commit(to_html(result));
    if (speaks) context.out << styled(to_string(result), text_style(context.out_is_terminal));
    if (speaks && report) context.out << "  Look       " << report_path_ << '\n';
    return result.holds() ? exit_status::holds : exit_status::finding;
  }

 private:
  SavedSchedule read_schedule() const {
    const std::string text = read_file("schedule file", path_);
    try {
      return saved_schedule_from_text(text);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("schedule file {}: {}", path_, error.what()));
    }
  }

  std::string path_;
  std::string json_path_;
  std::string report_path_;
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_replay_command() { return std::make_unique<ReplayCommand>(); }

}  // namespace gang::harness
