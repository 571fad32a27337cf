#include "harness/commands/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <new>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gang/error.h"
#include "harness/commands/commands.h"
#include "harness/text/suggestion.h"
#include "harness/text/version.h"
#include "sim/text/text_layout.h"

namespace gang::harness {
namespace {

bool asks_for_help(std::string_view word) {
  return word == "--help" || word == "-h" || word == "help";
}

std::string one_line(std::string_view text) {
  std::string line{text};
  std::ranges::replace(line, '\n', ' ');
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

void print_usage(const CommandLine& command_line, std::ostream& out) {
  out << fmt::format("{}\n\nusage: {} COMMAND [OPTIONS]\n\nCommands:\n", command_line.description,
                     command_line.binary);
  for (const auto& command : command_line.commands)
    out << sim::described(command->name(), command->description(), 12);
  out << fmt::format("\n'{} COMMAND --help' explains a command and gives examples.\n",
                     command_line.binary);
}

// Lays out options for a terminal of 80 columns, however long their descriptions are.
class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter() {
    label("Positionals", "Arguments");
    label("REQUIRED", "");
    column_width(24);
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return sim::described(make_option_name(option, is_positional) + make_option_opts(option),
                          make_option_desc(option), get_column_width());
  }
};

std::string footer_of(const Command& command, std::string_view binary) {
  std::string text = sim::wrapped(command.notes(), "");
  if (!text.empty()) text += "\n";
  text += "Examples:\n";
  for (const std::string& example : command.examples())
    text += fmt::format("  {} {}\n", binary, example);
  return text;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

// CLI11's complaint as one line that says what an option must be.
std::string explain(const CLI::ParseError& error, const CLI::App& app) {
  const std::string what = one_line(error.what());
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ArgumentMismatch))
    return what.substr(0, what.find(':')) + " needs a value";
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return what;
  for (const std::string& word : app.remaining())
    if (word.starts_with("-"))
      return "option " + unknown_name(word.substr(0, word.find('=')), option_names(app));
  return fmt::format("unexpected argument '{}'", app.remaining().front());
}

// The options of a command as CLI11 knows them, with the texts that they were given.
class ParsedOptions {
 public:
  ParsedOptions(std::vector<Option> options, CLI::App& app) : options_(std::move(options)) {
    for (const Option& option : options_) parsed_.push_back(&add(option, app));
  }

  // The words from the first argument on, if one of the options takes the rest; they are removed,
  // but for options that are taken from there.
  std::vector<std::string> take_rest(std::vector<std::string>& words, std::ostream& err) const {
    if (std::ranges::none_of(options_, is_rest)) return {};
    std::size_t begin = 0;
    while (begin < words.size() && begins_option(words[begin]))
      begin += takes_next(words[begin]) ? 2 : 1;
    begin = std::min(begin, words.size());
    const auto first = words.begin() + static_cast<std::ptrdiff_t>(begin);
    std::vector<std::string> rest(first, words.end());
    words.erase(first, words.end());
    const std::vector<std::string> taken = take_from(rest);
    std::vector<std::string> names;
    for (const std::string& word : taken)
      if (is_taken_from_rest(word)) names.push_back(name_of(word));
    if (!names.empty())
      err << fmt::format(
          "gangsim: note: gangsim itself reads {}; put -- after the program to pass it all of its "
          "arguments\n",
          fmt::join(names, ", "));
    words.insert(words.end(), taken.begin(), taken.end());
    return rest;
  }

  // After parsing. Throws what the options throw.
  void set(const std::vector<std::string>& rest) const {
    for (std::size_t i = 0; i < options_.size(); ++i) {
      const Option& option = options_[i];
      const std::vector<std::string>& texts = is_rest(option) ? rest : parsed_[i]->results();
      if (takes_one(option) && texts.size() > 1)
        throw InvalidArgument(
            fmt::format("{} is given {} times; must be once", option.name, texts.size()));
      for (const std::string& text : texts)
        if (option.form != Option::Form::flag || text == "true") option.set(text);
    }
  }

  // Whether an option has taken standard output for its file. Throws InvalidArgument if two have.
  bool take_standard_output() const {
    const Option* taker = nullptr;
    for (std::size_t i = 0; i < options_.size(); ++i) {
      if (options_[i].form != Option::Form::file) continue;
      const std::vector<std::string> texts = parsed_[i]->results();
      if (texts.empty() || texts.front() != standard_output) continue;
      if (taker != nullptr)
        throw InvalidArgument(
            fmt::format("{} and {} are both '-'; only one file can be standard output", taker->name,
                        options_[i].name));
      taker = &options_[i];
    }
    return taker != nullptr;
  }

 private:
  static bool is_rest(const Option& option) { return option.form == Option::Form::rest; }

  static bool takes_one(const Option& option) {
    return option.form == Option::Form::value || option.form == Option::Form::file;
  }

  // "-m MODULE" and "-- COMMAND" belong to the rest.
  static bool begins_option(const std::string& word) {
    return word.starts_with("-") && word != "--" && word != "-m";
  }

  static std::string name_of(const std::string& word) { return word.substr(0, word.find('=')); }

  bool is_taken_from_rest(const std::string& word) const {
    return std::ranges::any_of(options_, [name = name_of(word)](const Option& option) {
      return option.is_taken_from_rest && option.name == name;
    });
  }

  // The options that are taken from the rest, with their values, up to a "--"; they are removed.
  // Without a value they are another's: "train.py --json --epochs 3".
  std::vector<std::string> take_from(std::vector<std::string>& rest) const {
    std::vector<std::string> taken;
    for (std::size_t i = 0; i < rest.size() && rest[i] != "--";) {
      const std::size_t words = takes_next(rest[i]) ? 2 : 1;
      const bool has_value = words == 1 || (i + 1 < rest.size() && is_value(rest[i + 1]));
      if (!is_taken_from_rest(rest[i]) || !has_value) {
        ++i;
        continue;
      }
      const auto first = rest.begin() + static_cast<std::ptrdiff_t>(i);
      const auto last = first + static_cast<std::ptrdiff_t>(words);
      std::move(first, last, std::back_inserter(taken));
      rest.erase(first, last);
    }
    return taken;
  }

  static bool is_value(const std::string& word) { return !word.starts_with("-") || word == "-"; }

  // Whether the value of the option is the next word.
  bool takes_next(const std::string& word) const {
    return std::ranges::any_of(options_, [&word](const Option& option) {
      return option.name == word && option.form != Option::Form::flag;
    });
  }

  static CLI::Option& add(const Option& option, CLI::App& app) {
    if (option.form == Option::Form::flag) return *app.add_flag(option.name, option.description);
    const bool is_list = option.form == Option::Form::list || is_rest(option);
    const bool is_argument = !option.name.starts_with("-");
    CLI::Option& added = *app.add_option(option.name, CLI::callback_t{}, option.description);
    added.type_name(option.value_name)->type_size(1)->required(option.is_required);
    added.expected(1, is_list ? CLI::detail::expected_max_vector_size : 1);
    added.multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    return *added.allow_extra_args(is_list && is_argument);
  }

  std::vector<Option> options_;
  std::vector<CLI::Option*> parsed_;  // beside options_
};

bool is_terminal(const std::ostream& stream) {
  return (&stream == &std::cout && ::isatty(STDOUT_FILENO) == 1) ||
         (&stream == &std::cerr && ::isatty(STDERR_FILENO) == 1);
}

// Runs one command on its words. Throws what the command throws.
int run_command(Command& command, const std::vector<std::string>& words, CommandContext& context) {
  CLI::App app{command.description(), context.binary + " " + command.name()};
  app.footer(footer_of(command, context.binary));
  app.formatter(std::make_shared<HelpFormatter>());
  const ParsedOptions options{command.options(), app};
  std::vector<std::string> rest;
  try {
    std::vector<std::string> own = words;
    rest = options.take_rest(own, context.err);
    app.parse(std::vector<std::string>(own.rbegin(), own.rend()));
  } catch (const CLI::CallForHelp&) {
    context.out << app.help();
    return exit_status::holds;
  } catch (const CLI::ParseError& error) {
    throw InvalidArgument(explain(error, app));
  }
  options.set(rest);
  if (!options.take_standard_output()) return command.run(context);
  CommandContext beside{.programs = context.programs,
                        .listings = context.listings,
                        .binary = context.binary,
                        .out = context.err,
                        .err = context.err,
                        .out_is_terminal = is_terminal(context.err)};
  return command.run(beside);
}

Command& find_command(const CommandLine& command_line, const std::string& name) {
  std::vector<std::string> names;
  for (const auto& command : command_line.commands) {
    if (command->name() == name) return *command;
    names.push_back(command->name());
  }
  throw InvalidArgument("command " + unknown_name(name, names));
}

int dispatch(CommandLine& command_line, const std::vector<std::string>& arguments,
             CommandContext& context) {
  if (arguments.empty())
    throw InvalidArgument(
        fmt::format("a command is missing; '{} --help' lists them", command_line.binary));
  if (asks_for_help(arguments.front())) {
    print_usage(command_line, context.out);
    return exit_status::holds;
  }
  if (arguments.front() == "--version") {
    context.out << fmt::format("gangsim {}\n", version());
    return exit_status::holds;
  }
  Command& command = find_command(command_line, arguments.front());
  try {
    return run_command(command, {arguments.begin() + 1, arguments.end()}, context);
  } catch (const NotSupported& error) {
    context.err << fmt::format("{}: {}: {}\n", context.binary, command.name(),
                               one_line(error.what()));
    return exit_status::environment;
  } catch (const Error& error) {
    throw InvalidArgument(fmt::format("{}: {}", command.name(), error.what()));
  }
}

}  // namespace

std::vector<std::unique_ptr<Command>> make_standard_commands() {
  return make_standard_commands(process_environment);
}

std::vector<std::unique_ptr<Command>> make_standard_commands(
    const std::function<EnvironmentVariables()>& variables) {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_run_command());
  commands.push_back(make_replay_command());
  commands.push_back(make_explore_command(variables));
  commands.push_back(make_torch_command());
  commands.push_back(make_python_command());
  commands.push_back(make_explain_command());
  commands.push_back(make_compare_command(variables));
  commands.push_back(make_conform_command(variables));
  commands.push_back(make_merge_command());
  commands.push_back(make_mesh_command());
  commands.push_back(make_pipeline_command());
  commands.push_back(make_list_command());
  return commands;
}

int run_command_line(CommandLine& command_line, const std::vector<std::string>& arguments,
                     std::ostream& out, std::ostream& err) {
  CommandContext context{.programs = command_line.programs,
                         .listings = command_line.listings,
                         .binary = command_line.binary,
                         .out = out,
                         .err = err,
                         .out_is_terminal = is_terminal(out)};
  int status = exit_status::bad_input;
  try {
    status = dispatch(command_line, arguments, context);
  } catch (const Error& error) {
    err << fmt::format("{}: {}\n", command_line.binary, one_line(error.what()));
  } catch (const std::bad_alloc&) {
    err << fmt::format("{}: this machine has too little memory for this\n", command_line.binary);
    status = exit_status::environment;
  } catch (const std::system_error& error) {
    err << fmt::format("{}: the system refused: {}\n", command_line.binary, one_line(error.what()));
    status = exit_status::environment;
  }
  out.flush();
  if (!out.good()) {
    err << fmt::format("{}: standard output cannot be written\n", command_line.binary);
    return exit_status::bad_input;
  }
  return status;
}

int run_command_line(CommandLine& command_line, int argc, char** argv) {
  return run_command_line(command_line, {argv + 1, argv + argc}, std::cout, std::cerr);
}

}  // namespace gang::harness
