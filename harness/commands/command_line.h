// The command line of gangsim, and of any binary that calls gang::harness::main.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "gang/environment.h"
#include "harness/commands/option.h"
#include "harness/program/program.h"

namespace gang::harness {

// With what a process ends.
namespace exit_status {
inline constexpr int holds = 0;
inline constexpr int finding = 1;
inline constexpr int bad_input = 2;
inline constexpr int environment = 3;
inline constexpr int interrupted = 130;  // as shells have it
}  // namespace exit_status

// Something that `list` lists: "backends", "properties", ... ("programs" is always listed.)
struct Listing {
  struct Entry {
    std::string name;
    std::string description;
  };
  std::string name;
  std::function<std::vector<Entry>()> entries;
};

// What a command may use. Everything is borrowed.
struct CommandContext {
  const std::vector<Program>& programs;
  const std::vector<Listing>& listings;
  std::string binary;  // what people type to call this: "gangsim", or argv[0] of a user's binary
  std::ostream& out;
  std::ostream& err;
  bool out_is_terminal = false;
};

// One word after the binary's name. Its options set members, which `run` uses.
class Command {
 public:
  virtual ~Command() = default;

  virtual std::string name() const = 0;
  virtual std::string description() const = 0;  // one line
  virtual std::vector<std::string> examples()
      const = 0;  // "run mesh --world 64": without the binary

  virtual std::string notes() const { return ""; }  // what --help adds above the examples

  virtual std::vector<Option> options() = 0;  // in the order of --help; valid while the command is

  // Does it; returns an exit_status. Thrown InvalidArgument and InvalidOperation become one line on
  // `err` and exit_status::bad_input; NotSupported, one line and exit_status::environment.
  virtual int run(CommandContext& context) = 0;
};

struct CommandLine {
  std::string binary = "gangsim";
  std::string description;
  std::vector<Program> programs;
  std::vector<std::unique_ptr<Command>> commands;  // in the order of --help
  std::vector<Listing> listings;
};

// The commands that every binary has (commands.h), and what `list` lists.
std::vector<std::unique_ptr<Command>> make_standard_commands();
std::vector<std::unique_ptr<Command>> make_standard_commands(
    const std::function<EnvironmentVariables()>& variables);
std::vector<Listing> make_standard_listings();

// Parses the arguments, runs one command and returns the exit status. An error in the input is one
// line on `err`: what is wrong and what it must be. Also reports an `out` that cannot be written,
// and a system that lacks memory or threads (exit_status::environment).
int run_command_line(CommandLine& command_line, const std::vector<std::string>& arguments,
                     std::ostream& out, std::ostream& err);

// The same for a main function: arguments from argv, standard output and error.
int run_command_line(CommandLine& command_line, int argc, char** argv);

}  // namespace gang::harness
