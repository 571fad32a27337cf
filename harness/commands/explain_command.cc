#include <algorithm>
#include <array>
#include <filesystem>
#include <ostream>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/commands/commands.h"
#include "harness/explanation/coloured_text.h"
#include "harness/explanation/grouped_waits.h"
#include "harness/explanation/html_page.h"
#include "harness/explanation/run_sarif.h"
#include "harness/program_file/retold_program.h"
#include "harness/recording/dump_files.h"
#include "harness/recording/explained_recording.h"
#include "harness/run/run_file.h"
#include "harness/text/junit.h"
#include "harness/text/output_file.h"
#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

struct NamedRun {
  std::string file;
  RunResult result;
};

// The contents of a folder's .json files.
struct Folder {
  std::vector<NamedRun> runs;         // by file name
  std::vector<std::string> problems;  // files that are cut off, or whose fields are wrong
  std::size_t others = 0;             // JSON of other kinds
};

bool is_json_of_another_kind(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  return !json.is_discarded() && !is_saved_run(json);
}

Folder read_folder(const std::string& path) {
  Folder folder;
  for (const std::filesystem::path& file : json_files_of(path)) {
    const std::string text = read_file("run file", file.string());
    if (is_json_of_another_kind(text)) {
      ++folder.others;
      continue;
    }
    try {
      folder.runs.push_back({file.filename().string(), run_result_from_text(text)});
    } catch (const InvalidArgument& error) {
      folder.problems.push_back(fmt::format("run file {}: {}", file.string(), error.what()));
    }
  }
  if (folder.runs.empty() && folder.problems.empty())
    throw InvalidArgument(
        fmt::format("folder {} has no saved run among its {} .json file{}; run --json writes one",
                    path, folder.others, folder.others == 1 ? "" : "s"));
  return folder;
}

std::string verdict_cell(const RunResult& result) {
  const sim::Report& report = result.report;
  const std::string outcome(to_string(report.outcome));
  return report.findings.empty() ? outcome : outcome + "  " + report.findings.front().id;
}

std::string table_of(const Folder& folder) {
  std::vector<std::vector<std::string>> rows = {{"file", "verdict", "program", "world", "seed"}};
  for (const NamedRun& run : folder.runs) {
    const std::string& program = run.result.specification.program;
    rows.push_back({run.file, verdict_cell(run.result), program.substr(program.rfind('/') + 1),
                    fmt::format("{}", run.result.world_size),
                    fmt::format("{}", run.result.specification.options.seed)});
  }
  std::string text = sim::table(rows);
  if (folder.others != 0)
    text += fmt::format("  ({} .json file{} of other kinds)\n", folder.others,
                        folder.others == 1 ? "" : "s");
  return text;
}

JunitSuite to_junit(const RunResult& result) {
  JunitCase verdict{.class_name = "explain", .name = result.specification.program};
  if (!result.holds())
    verdict.failure = {.message = result.report.findings.empty()
                                      ? std::string(to_string(result.report.outcome))
                                      : result.report.findings.front().message,
                       .text = to_string(result)};
  return {.name = "explain", .cases = {std::move(verdict)}};
}

class ExplainCommand final : public Command {
 public:
  std::string name() const override { return "explain"; }
  std::string description() const override {
    return "explains a saved run, or the dumps of a job that hung";
  }
  std::vector<std::string> examples() const override {
    return {"run suspect.toml --json out.json",
            "explain out.json",
            "explain out.json --html out.html --dot out.dot",
            "explain runs/                      # every run of a folder",
            "explain dumps/ --program again.toml && gangsim run again.toml",
            "explain /tmp/nccl_trace_rank_*     # PyTorch's Flight Recorder"};
  }

  std::string notes() const override {
    return "The exit status is 0 whatever the run's verdict, if the run could be explained.";
  }

  std::vector<Option> options() override {
    Option run = list_option("RUN", "",
                             "a file that run --json has written, or a folder of them; or a "
                             "Flight Recorder dump of every rank, or a folder of those",
                             paths_);
    run.is_required = true;
    return {std::move(run),
            html_.option("the explanation as one HTML page"),
            dot_.option("which rank waits for which, for Graphviz"),
            json_.option("the run again, in this version's format"),
            junit_.option("the verdict as JUnit XML"),
            sarif_.option("the findings as SARIF, for code review"),
            program_.option("what the dumps have recorded as a program for run, to be changed"),
            flag_option("--text", "print the text even if files are written", wants_text_)};
  }

  int run(CommandContext& context) override {
    std::error_code error;
    if (has_dumps(paths_.front()))
      explain_dumps(context);
    else if (program_.is_given())
      throw InvalidArgument("--program needs the dumps of a Flight Recorder");
    else if (paths_.size() > 1)
      throw InvalidArgument(fmt::format(
          "{} is not a dump of a Flight Recorder, of which several can be given", paths_.front()));
    else if (std::filesystem::is_directory(paths_.front(), error))
      explain_folder(paths_.front(), context);
    else
      explain_run(read_run_file(paths_.front()), context);
    return exit_status::holds;
  }

 private:
  std::array<FileOption*, 6> files() {
    return {&html_, &dot_, &json_, &junit_, &sarif_, &program_};
  }

  bool writes_files() { return std::ranges::any_of(files(), &FileOption::is_given); }

  void explain_dumps(CommandContext& context) {
    std::string command = context.binary + " explain";
    for (const std::string& path : paths_) command += " " + shell_quoted(path);
    const std::string name = name_of_dumps(paths_);
    const Recording recording = read_recording(paths_);
    program_.write([&] { return program_file::retell(recording, name).toml; });
    explain_run(explain(recording, name, command), context);
  }

  void explain_run(const RunResult& result, CommandContext& context) {
    for (FileOption* file : files()) file->open();
    if (wants_text_ || !writes_files())
      context.out << styled(marked_text(result), text_style(context.out_is_terminal));
    html_.write([&result] { return to_html(result); });
    dot_.write([&result] { return to_dot(result.report); });
    json_.write([&result] { return to_file_text(result); });
    junit_.write([&result] { return to_junit_xml("gangsim explain", {to_junit(result)}); });
    sarif_.write([&result] { return to_sarif_text("gangsim explain", result); });
    if (const std::string written = written_files(); !written.empty())
      context.out << "  Wrote      " << written << '\n';
  }

  // "out.html, out.dot"; without devices and pipes, whose readers see what was written.
  std::string written_files() {
    std::string files;
    for (const FileOption* file : this->files()) {
      std::error_code error;
      if (!file->names_file() || !std::filesystem::is_regular_file(file->path(), error)) continue;
      files += (files.empty() ? "" : ", ") + file->path();
    }
    return files;
  }

  void explain_folder(const std::string& path, CommandContext& context) {
    const Folder folder = read_folder(path);
    if (writes_files()) {
      if (folder.runs.size() != 1 || !folder.problems.empty())
        throw InvalidArgument(fmt::format(
            "folder {} has {} saved runs; --html, --dot and --json need the file of one", path,
            folder.runs.size() + folder.problems.size()));
      return explain_run(folder.runs.front().result, context);
    }
    context.out << table_of(folder);
    const TextStyle style = text_style(context.out_is_terminal);
    for (const NamedRun& run : folder.runs)
      context.out << fmt::format("\n{}\n{}\n\n", run.file, std::string(run.file.size(), '-'))
                  << styled(marked_text(run.result), style);
    if (!folder.problems.empty()) throw InvalidArgument(folder.problems.front());
  }

  std::vector<std::string> paths_;
  FileOption html_{"--html"};
  FileOption dot_{"--dot"};
  FileOption json_{"--json"};
  FileOption junit_{"--junit"};
  FileOption sarif_{"--sarif"};
  FileOption program_{"--program"};
  bool wants_text_ = false;
};

}  // namespace

std::unique_ptr<Command> make_explain_command() { return std::make_unique<ExplainCommand>(); }

}  // namespace gang::harness
