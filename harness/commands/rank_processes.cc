#include "harness/commands/rank_processes.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "gang/environment.h"
#include "gang/error.h"
#include "harness/conductor/interrupt.h"
#include "harness/conductor/python.h"

namespace gang::harness {
namespace {

// Before a command that starts the ranks itself.
constexpr std::string_view own_command = "--";
// Between a program and its arguments.
constexpr std::string_view all_words_are_its_own = "--";

// Options of gangsim that programs rarely have themselves, and that are not taken from theirs.
constexpr std::array misplaced_options = {"--explore", "--log-ranks"};

Duration parse_limit(std::string_view text) {
  try {
    if (const Duration limit = parse_duration(text); limit > Duration::zero()) return limit;
  } catch (const InvalidArgument&) {  // NOLINT(bugprone-empty-catch): said below
  }
  throw InvalidArgument(
      fmt::format("--stall-limit is '{}'; must be more than 0, with ns, us, ms, s, min or h (5s, "
                  "1.5min)",
                  text));
}

}  // namespace

Option RankProcesses::program_option() {
  return rest_option("PROGRAM", "a script or -m MODULE, and its arguments; or -- COMMAND", words_);
}

void RankProcesses::add_to(std::vector<Option>& options) {
  options.push_back(text_option("--python", "FILE",
                                with_torch_
                                    ? "the interpreter [the first python3 of PATH with torch]"
                                    : "the interpreter [the first python3 of PATH]",
                                python_));
  if (with_torch_)
    options.push_back(
        flag_option("--threads", "ranks are threads of one process (PyTorch 2)", threads_));
  options.push_back(flag_option("--spawn", "a separate interpreter for each rank", spawn_));
  options.push_back(
      flag_option("--free", "take requests as they come: faster, but not reproducible", free_));
  options.push_back(text_option("--attach", "SOCKET",
                                "start no processes: ranks connect to this socket themselves",
                                attach_));
  if (with_torch_)
    options.push_back(flag_option(
        "--cuda-as-cpu", "run code that asks for CUDA devices on the processor", cuda_as_cpu_));
  options.push_back(
      {.name = "--stall-limit",
       .value_name = "TIME",
       .description = "how long ranks may do nothing outside of calls while the others wait, until "
                      "that is a probable hang [5s; 30s for ranks that sleep, as in a loop that "
                      "looks for a file]",
       .set = [this](std::string_view text) { stall_limit_ = parse_limit(text); }});
  options.push_back(text_option(
      "--log-ranks", "RANKS",
      "ranks whose output is shown: all, none, or a list such as 0,8-15 [0]", log_ranks_));
}

bool RankProcesses::starts_by_command() const {
  return !words_.empty() && words_.front() == own_command;
}

bool RankProcesses::can_repeat() const {
  return attach_.empty() && !threads_ && !starts_by_command();
}

void RankProcesses::check(const RunSpecification& given) const {
  if (!attach_.empty()) {
    if (!words_.empty()) throw InvalidArgument("--attach starts no process; PROGRAM is given");
    if (!given.world_size) throw InvalidArgument("--attach needs --world");
    return;
  }
  if (words_.empty()) throw InvalidArgument("PROGRAM is missing: a script, or -m MODULE");
  if (words_.front() == own_command && words_.size() == 1)
    throw InvalidArgument("a command is missing after --");
  if (words_.front() == "-m" && words_.size() == 1)
    throw InvalidArgument("-m needs the name of a module");
}

void RankProcesses::note_misplaced(std::ostream& err) const {
  if (words_.empty() || starts_by_command()) return;
  for (const std::string& word : words_)
    if (std::ranges::find(misplaced_options, word) != misplaced_options.end())
      err << fmt::format(
          "gangsim: note: {} comes after the program, so the program gets it; gangsim's own come "
          "before the program\n",
          word);
}

ConductorOptions RankProcesses::conductor_options(const RunSpecification& given) const {
  ConductorOptions options{
      .socket = attach_, .world_size = given.world_size, .execution = given.options.execution};
  if (!options.world_size && !starts_by_command()) options.world_size = default_world_size;
  options.turns.is_free = free_;
  options.turns.interrupt = &Interrupt::has_come();
  if (stall_limit_) {
    options.turns.stall_limit = options.turns.sleep_limit = *stall_limit_;
    options.turns.silent_threads_limit = *stall_limit_;
  }
  return options;
}

RankSelection RankProcesses::shown(std::string_view by_default) const {
  return RankSelection(log_ranks_.value_or(std::string(by_default)));
}

// What processes need to find the client, and the conductor.
ProcessEnvironment RankProcesses::environment(const Conductor& conductor,
                                              const std::string& packages) const {
  const EnvironmentVariables variables = process_environment();
  const auto path = variables.find("PYTHONPATH");
  ProcessEnvironment environment = {
      {socket_variable, conductor.socket()},
      {"PYTHONPATH",
       packages + "/site:" + packages + (path == variables.end() ? "" : ":" + path->second)}};
  // The order of sets must not differ from run to run.
  if (!variables.contains("PYTHONHASHSEED")) environment["PYTHONHASHSEED"] = "0";
  if (!variables.contains("OMP_NUM_THREADS")) environment["OMP_NUM_THREADS"] = "1";
  if (cuda_as_cpu_) {
    // How many GPUs a process that is not a rank sees, which may start a rank for each.
    const int devices = conductor.world_size() > 0 ? conductor.world_size() : default_world_size;
    environment["GANGSIM_CUDA_AS_CPU"] = std::to_string(devices);
  }
  if (threads_) environment["GANGSIM_LOG_RANKS"] = log_ranks_.value_or("0");
  return environment;
}

std::unique_ptr<RankLauncher> RankProcesses::make_launcher(Conductor& conductor) const {
  if (!attach_.empty()) return std::make_unique<NoLauncher>();
  const std::string packages = find_packages();
  const ProcessEnvironment variables = environment(conductor, packages);
  if (starts_by_command())
    return std::make_unique<CommandLauncher>(
        conductor.poller(), std::vector<std::string>(words_.begin() + 1, words_.end()), variables);
  const PythonProgram program = python_program();
  if (threads_)
    return std::make_unique<CommandLauncher>(
        conductor.poller(), words_for_threads(program, conductor.world_size()), variables);
  if (spawn_)
    return std::make_unique<SpawnLauncher>(conductor.poller(), program, variables,
                                           conductor.events());
  return std::make_unique<ForkLauncher>(conductor.poller(), program, variables, conductor.events());
}

PythonProgram RankProcesses::python_program() const {
  return {.python = find_python(python_, with_torch_ ? "torch" : ""),
          .packages = find_packages(),
          .with_torch = with_torch_,
          .words = words_of_program()};
}

std::vector<std::string> RankProcesses::words_of_program() const {
  std::vector<std::string> words = words_;
  const std::size_t arguments = !words.empty() && words.front() == "-m" ? 2 : 1;
  if (words.size() > arguments && words[arguments] == all_words_are_its_own)
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(arguments));
  return words;
}

std::string RankProcesses::program_name() const {
  if (words_.empty()) return "attached ranks";
  if (words_.front() == "-m") return words_[1];
  if (!starts_by_command()) return words_.front();
  const auto script =
      std::ranges::find_if(words_, [](const std::string& word) { return word.ends_with(".py"); });
  return script != words_.end() ? *script : words_[1];
}

std::string RankProcesses::options_text() const {
  std::string text;
  for (const auto& [is_given, flag] :
       {std::pair{threads_, "--threads"}, std::pair{spawn_, "--spawn"}, std::pair{free_, "--free"},
        std::pair{cuda_as_cpu_, "--cuda-as-cpu"}})
    if (is_given) text += fmt::format(" {}", flag);
  for (const auto& [value, option] :
       {std::pair{&python_, "--python"}, std::pair{&attach_, "--attach"}})
    if (!value->empty()) text += fmt::format(" {} {}", option, shell_quoted(*value));
  if (stall_limit_) text += " --stall-limit " + to_duration_text(*stall_limit_);
  return text;
}

std::string RankProcesses::words_text() const {
  std::string text;
  for (const std::string& word : words_) text += " " + shell_quoted(word);
  return text;
}

}  // namespace gang::harness
