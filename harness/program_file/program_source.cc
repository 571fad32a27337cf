#include "harness/program_file/program_source.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "harness/program_file/document.h"
#include "harness/program_file/retold_program.h"
#include "harness/recording/dump_files.h"

namespace gang::harness {
namespace {

// Different ones, in alphabetical order: several ranks may have the same finding.
using FindingIds = std::set<std::string>;

FindingIds finding_ids(const RunResult& result) {
  FindingIds ids;
  for (const sim::Finding& finding : result.report.findings) ids.insert(finding.id);
  return ids;
}

std::vector<int> named_ranks(const RunResult& result) {
  std::set<int> ranks;
  for (const sim::Finding& finding : result.report.findings)
    ranks.insert(finding.ranks.begin(), finding.ranks.end());
  return {ranks.begin(), ranks.end()};
}

FindingIds locations(const RunResult& result) {
  FindingIds locations;
  for (const sim::Finding& finding : result.report.findings)
    if (!finding.location.empty()) locations.insert(to_string(finding.location));
  return locations;
}

std::string list(const FindingIds& ids) {
  return ids.empty() ? "none" : fmt::format("{}", fmt::join(ids, ", "));
}

// "a/b/suspect.toml" is called "suspect.toml".
std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// What the program comes with, where the specification says nothing else.
void add_options(const Program& program, RunSpecification& specification) {
  for (const auto& [name, text] : program.options) {
    const auto option = std::ranges::find(run_options(), name, &RunOption::name);
    if (!option->text(specification)) option->set(specification, text);
  }
}

// A path, or several with commas between them.
std::vector<std::string> dump_paths(const std::string& text) {
  if (has_dumps(text)) return {text};
  std::vector<std::string> paths;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(',', begin);
    paths.push_back(text.substr(begin, end - begin));
    if (!has_dumps(paths.back())) return {};
  }
  return paths;
}

// Of the recording in these dumps, which are called `text`.
Program program_of(const program_file::RetoldProgram& retold, const std::string& name,
                   std::string_view text) {
  return program_file::make_program(
      retold.file,
      {.name = name, .description = fmt::format("the dumps {}", text), .source = retold.toml});
}

// A scenario may be of a program file, or of another scenario's program; their paths begin beside
// it.
Program program_of_scenario(const std::vector<Program>& programs, const std::string& name,
                            const std::string& scenario, int depth = 0) {
  constexpr int deepest = 8;
  const bool is_known = std::ranges::find(programs, name, &Program::name) != programs.end();
  if (is_known) return find_program(programs, name);
  if (depth == deepest)
    throw InvalidArgument(fmt::format("{}: scenarios lead to each other without an end", scenario));
  const bool is_absolute = name.starts_with('/');
  const std::string path = is_absolute ? name : scenario.substr(0, scenario.rfind('/') + 1) + name;
  if (!name.ends_with(".toml")) {
    const std::vector<std::string> paths = dump_paths(path);
    if (paths.empty()) return find_program(programs, name);
    const std::string dumps = name_of_dumps(paths);
    return program_of(program_file::retell(read_recording(paths), dumps), dumps, path);
  }
  program_file::Document document = program_file::read_document(path);
  if (document.program_file == nullptr)
    return program_of_scenario(programs, document.program_name, path, depth + 1);
  return program_file::make_program(std::move(document.program_file),
                                    {.name = file_name(path),
                                     .description = "program file " + path,
                                     .source = std::move(document.source)});
}

ProgramSource read_source(const std::vector<Program>& programs, const std::string& path) {
  program_file::Document document = program_file::read_document(path);
  ProgramSource source{.specification = std::move(document.specification),
                       .expectation = std::move(document.expectation)};
  if (document.program_file == nullptr) {
    source.program = program_of_scenario(programs, document.program_name, path);
    add_options(source.program, source.specification);
    return source;
  }
  source.program = program_file::make_program(std::move(document.program_file),
                                              {.name = file_name(path),
                                               .description = "program file " + path,
                                               .source = std::move(document.source)});
  return source;
}

ProgramSource retold_source(const std::vector<std::string>& paths, std::string_view text) {
  const std::string name = name_of_dumps(paths);
  const program_file::RetoldProgram retold = program_file::retell(read_recording(paths), name);
  ProgramSource source{.program = program_of(retold, name, text)};
  source.specification.program = text;
  while (source.specification.program.size() > 1 && source.specification.program.ends_with('/'))
    source.specification.program.pop_back();
  source.specification.world_size = retold.world_size;
  source.specification.options.execution = retold.execution;
  return source;
}

}  // namespace

ProgramSource find_program_source(const std::vector<Program>& programs,
                                  std::string_view name_or_path) {
  if (name_or_path.ends_with(".toml")) return read_source(programs, std::string{name_or_path});
  if (std::ranges::find(programs, name_or_path, &Program::name) == programs.end())
    if (const auto paths = dump_paths(std::string(name_or_path)); !paths.empty())
      return retold_source(paths, name_or_path);
  ProgramSource source{.program = find_program(programs, name_or_path)};
  source.specification.program = source.program.name;
  add_options(source.program, source.specification);
  return source;
}

std::string unmet_expectation(const Expectation& expectation, const RunResult& result) {
  const std::string_view outcome = to_string(result.report.outcome);
  if (expectation.outcome && *expectation.outcome != outcome)
    return fmt::format("the outcome is {}; expected: {}", outcome, *expectation.outcome);
  if (expectation.findings) {
    const FindingIds expected{expectation.findings->begin(), expectation.findings->end()};
    const FindingIds found = finding_ids(result);
    if (found != expected)
      return fmt::format("the findings are {}; expected: {}", list(found), list(expected));
  }
  if (expectation.ranks && *expectation.ranks != named_ranks(result))
    return fmt::format("the findings name ranks [{}]; expected: [{}]",
                       fmt::join(named_ranks(result), ", "), fmt::join(*expectation.ranks, ", "));
  if (!expectation.at) return "";
  const FindingIds expected{expectation.at->begin(), expectation.at->end()};
  const FindingIds found = locations(result);
  if (found == expected) return "";
  return fmt::format("the findings point at {}; expected: {}", list(found), list(expected));
}

}  // namespace gang::harness
