#include <ostream>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/commands/commands.h"
#include "harness/explanation/coloured_text.h"
#include "harness/explanation/html_page.h"
#include "harness/explanation/run_sarif.h"
#include "harness/program_file/program_source.h"
#include "harness/run/run_file.h"
#include "harness/run/runner.h"
#include "harness/run/schedule_file.h"
#include "harness/text/number_text.h"
#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

class ReplayCommand final : public Command {
 public:
  std::string name() const override { return "replay"; }
  std::string description() const override { return "runs a saved schedule again, step by step"; }
  std::vector<std::string> examples() const override {
    return {"replay s.json", "replay s.json --json out.json --report out.html"};
  }

  std::vector<Option> options() override {
    Option file = text_option("FILE", "", "a file that run --save-schedule has written", path_);
    file.is_required = true;
    return {std::move(file), json_.option("the run as JSON, for explain and for machines"),
            report_.option("the explanation as one HTML page"),
            sarif_.option("the findings as SARIF, for code review"),
            flag_option("--quiet", "print nothing if all is well", quiet_)};
  }

  int run(CommandContext& context) override {
    const SavedSchedule saved = read_schedule_file(path_);
    const ProgramSource source = find_program_source(context.programs, saved.specification.program);
    json_.open();
    report_.open();
    sarif_.open();
    RunRecording recording{.trace = sim::Recording::on};
    if (json_.is_given() || report_.is_given()) recording.timeline = sim::Recording::on;
    ReplayedRun replayed = follow(saved, source.program, recording, context.binary);
    RunResult& result = replayed.result;
    result.reproduce = fmt::format("{} replay {}", context.binary, shell_quoted(path_));
    const bool speaks = !result.holds() || !quiet_;
    json_.write([&result] { return to_file_text(result); });
    report_.write([&result] { return to_html(result); });
    sarif_.write([&result] { return to_sarif_text("gangsim replay", result); });
    if (speaks) context.out << styled(marked_text(result), text_style(context.out_is_terminal));
    if (speaks && !replayed.change.empty())
      context.out << sim::wrapped(
          fmt::format("The program has changed: {}. Its {} were made again.", replayed.change,
                      grouped(saved.detours->size(), "contested choice")),
          "  ");
    if (speaks && report_.names_file()) context.out << "  Report     " << report_.path() << '\n';
    return result.holds() ? exit_status::holds : exit_status::finding;
  }

 private:
  ReplayedRun follow(const SavedSchedule& saved, const Program& program,
                     const RunRecording& recording, std::string_view binary) const {
    try {
      return replay_saved(saved, program, recording, binary);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(fmt::format("{}: {}", path_, error.what()));
    }
  }

  std::string path_;
  FileOption json_{"--json"};
  FileOption report_{"--report"};
  FileOption sarif_{"--sarif"};
  bool quiet_ = false;
};

}  // namespace

std::unique_ptr<Command> make_replay_command() { return std::make_unique<ReplayCommand>(); }

}  // namespace gang::harness
