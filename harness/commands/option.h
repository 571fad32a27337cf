// What a command takes on the command line, as values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/run/run_specification.h"
#include "harness/text/number_text.h"
#include "harness/text/output_file.h"

namespace gang::harness {

// One option of a command, or one of its arguments ("PROGRAM").
struct Option {
  // file: a value, the path of a file to write or "-", standard output, which one option may take;
  // rest: from the first argument on, all words, which belong to something that the command runs.
  enum class Form : std::uint8_t { value, file, flag, list, rest };

  std::string name;         // "--json"; without dashes: an argument
  std::string value_name;   // "FILE"; of a flag or an argument: empty
  std::string description;  // with the default: "ranks [8]"
  Form form = Form::value;
  bool is_required = false;
  bool is_taken_from_rest = false;  // also among the words of an option that takes the rest

  // Takes the text of a value, of each one of a list or rest; of a flag that is given: "true".
  // Throws InvalidArgument: the option, the text, what it must be.
  std::function<void(std::string_view)> set;
};

// Options that set what they are given, which outlives them.
Option flag_option(std::string name, std::string description, bool& flag);
Option rest_option(std::string name, std::string description, std::vector<std::string>& words);
Option list_option(std::string name, std::string value_name, std::string description,
                   std::vector<std::string>& texts);

// T: std::string, or an optional one.
template <typename T>
Option text_option(std::string name, std::string value_name, std::string description, T& text) {
  return {.name = std::move(name),
          .value_name = std::move(value_name),
          .description = std::move(description),
          .set = [&text](std::string_view given) { text = std::string{given}; }};
}

// T: the type of the limits, or an optional one.
template <typename T, typename Limit>
Option number_option(std::string name, std::string description, T& number, Limit least,
                     Limit most) {
  const auto set = [name, &number, least, most](std::string_view text) {
    number = parse_number(name, text, least, most);
  };
  return {.name = name, .value_name = "N", .description = std::move(description), .set = set};
}

// The argument PROGRAM, which must be given: what find_program_source takes. Several dumps are
// joined by commas.
Option program_argument(std::string& program);

// A file that an option names, if any; opened before the work, so that a long run does not end in
// vain. "-" is standard output (OutputFile).
class FileOption {
 public:
  explicit FileOption(std::string name, std::string default_path = "")
      : name_(std::move(name)), path_(std::move(default_path)) {}

  // This is what the option sets.
  Option option(std::string description);

  bool is_given() const noexcept { return !path_.empty(); }
  bool names_file() const noexcept { return is_given() && path_ != standard_output; }
  const std::string& path() const noexcept { return path_; }

  // Does nothing if it was not given, and only the first time. Throws as OutputFile.
  void open();

  // Writes `make()`, if it was given.
  template <typename Make>
  void write(const Make& make) {
    open();
    if (file_) file_->commit(make());
  }

 private:
  std::string name_;
  std::string path_;
  std::optional<OutputFile> file_;
};

// The options of a run and --set.
class RunOptions {
 public:
  // Adds --set.
  void add_parameters_to(std::vector<Option>& options);

  // Adds those called `only` (all, if there are none).
  void add_to(std::vector<Option>& options, const std::vector<std::string_view>& only = {});

  bool is_given(std::string_view name) const { return texts_.contains(name); }

  // `specification` with what was given. Throws as RunOption::set.
  RunSpecification applied_to(RunSpecification specification) const;

 private:
  std::map<std::string, std::string, std::less<>> texts_;  // by option
  std::vector<std::string> assignments_;                   // "key=value"
};

}  // namespace gang::harness
