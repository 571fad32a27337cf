#include "harness/commands/option.h"

#include <algorithm>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/recording/dump_files.h"

namespace gang::harness {

Option flag_option(std::string name, std::string description, bool& flag) {
  return {.name = std::move(name),
          .value_name = "",
          .description = std::move(description),
          .form = Option::Form::flag,
          .set = [&flag](std::string_view) { flag = true; }};
}

Option list_option(std::string name, std::string value_name, std::string description,
                   std::vector<std::string>& texts) {
  return {.name = std::move(name),
          .value_name = std::move(value_name),
          .description = std::move(description),
          .form = Option::Form::list,
          .set = [&texts](std::string_view text) { texts.emplace_back(text); }};
}

Option rest_option(std::string name, std::string description, std::vector<std::string>& words) {
  return {.name = std::move(name),
          .value_name = "",
          .description = std::move(description),
          .form = Option::Form::rest,
          .set = [&words](std::string_view word) { words.emplace_back(word); }};
}

Option program_argument(std::string& program) {
  return {.name = "PROGRAM",
          .description =
              "a name from 'list programs', a .toml file, or the Flight Recorder dumps "
              "of a job: a folder, or one file of each rank",
          .form = Option::Form::list,
          .is_required = true,
          .set = [&program](std::string_view text) {
            if (!program.empty() && !has_dumps(std::string(text)))
              throw InvalidArgument(fmt::format("unexpected argument '{}'", text));
            program += program.empty() ? "" : ",";
            program += text;
          }};
}

Option FileOption::option(std::string description) {
  Option option = text_option(name_, "FILE", std::move(description), path_);
  option.form = Option::Form::file;
  option.is_taken_from_rest = true;
  return option;
}

void FileOption::open() {
  if (is_given() && !file_) file_.emplace(name_, path_);
}

void RunOptions::add_parameters_to(std::vector<Option>& options) {
  options.push_back(list_option("--set", "KEY=VALUE", "a parameter of the program; may be repeated",
                                assignments_));
}

void RunOptions::add_to(std::vector<Option>& options, const std::vector<std::string_view>& only) {
  for (const RunOption& option : run_options()) {
    if (!only.empty() && std::ranges::find(only, option.name) == only.end()) continue;
    options.push_back(
        {.name = "--" + option.name,
         .value_name = option.value_name,
         .description = option.description,
         .form = option.form == RunOption::Form::flag ? Option::Form::flag : Option::Form::value,
         .set = [this, name = option.name](std::string_view text) { texts_[name] = text; }});
  }
}

RunSpecification RunOptions::applied_to(RunSpecification specification) const {
  for (const RunOption& option : run_options())
    if (const auto given = texts_.find(option.name); given != texts_.end())
      option.set(specification, given->second);
  for (const std::string& assignment : assignments_) set_parameter(specification, assignment);
  return specification;
}

}  // namespace gang::harness
