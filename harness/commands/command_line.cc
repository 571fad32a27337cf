#include "harness/commands/command_line.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <new>
#include <system_error>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "gang/error.h"
#include "harness/commands/compare_command.h"
#include "harness/commands/conform_command.h"
#include "harness/commands/explain_command.h"
#include "harness/commands/explore_command.h"
#include "harness/commands/list_command.h"
#include "harness/commands/mesh_command.h"
#include "harness/commands/pipeline_command.h"
#include "harness/commands/replay_command.h"
#include "harness/commands/run_command.h"
#include "harness/text/suggestion.h"

namespace gang::harness {
namespace {

constexpr std::string_view version = "0.1.0";

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
  for (const auto& command : command_line.commands) {
    out << fmt::format("  {:<10}{}\n", command->name(), command->description());
  }
  out << fmt::format("\n'{} COMMAND --help' tells more and gives examples.\n", command_line.binary);
}

std::string examples_of(const Command& command, std::string_view binary) {
  std::string text = "Examples:\n";
  for (const std::string& example : command.examples()) {
    text += fmt::format("  {} {}\n", binary, example);
  }
  return text;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// CLI11's complaint as one line that says what is accepted.
std::string explain(const CLI::ParseError& error, const CLI::App& app) {
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    return one_line(error.what());
  }
  for (const std::string& word : app.remaining()) {
    if (word.starts_with("-")) {
      return "option " + unknown_name(word.substr(0, word.find('=')), option_names(app));
    }
  }
  return fmt::format("'{}' is one argument too many", app.remaining().front());
}

// Runs one command on its words. Throws what the command throws.
int run_command(Command& command, const std::vector<std::string>& words, CommandContext& context) {
  CLI::App app{command.description(), context.binary + " " + command.name()};
  app.footer(examples_of(command, context.binary));
  command.add_options(app);
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    context.out << app.help();
    return exit_status::holds;
  } catch (const CLI::ParseError& error) {
    throw InvalidArgument(explain(error, app));
  }
  return command.run(context);
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
  if (arguments.empty()) {
    throw InvalidArgument(
        fmt::format("a command is missing; '{} --help' lists them", command_line.binary));
  }
  if (asks_for_help(arguments.front())) {
    print_usage(command_line, context.out);
    return exit_status::holds;
  }
  if (arguments.front() == "--version") {
    context.out << fmt::format("gangsim {}\n", version);
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
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(make_run_command());
  commands.push_back(make_replay_command());
  commands.push_back(make_explore_command());
  commands.push_back(make_explain_command());
  commands.push_back(make_compare_command());
  commands.push_back(make_conform_command());
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
                         .out_is_terminal = &out == &std::cout && ::isatty(STDOUT_FILENO) == 1};
  int status = exit_status::bad_input;
  try {
    status = dispatch(command_line, arguments, context);
  } catch (const Error& error) {
    err << fmt::format("{}: {}\n", command_line.binary, one_line(error.what()));
  } catch (const std::bad_alloc&) {
    err << fmt::format("{}: this machine has too little memory for that\n", command_line.binary);
    status = exit_status::environment;
  } catch (const std::system_error& error) {
    err << fmt::format("{}: the system refuses: {}\n", command_line.binary, one_line(error.what()));
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
