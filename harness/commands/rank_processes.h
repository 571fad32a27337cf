// The options of `torch` and `python` about the processes of the ranks.
#pragma once

#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/commands/option.h"
#include "harness/conductor/conductor.h"
#include "harness/run/run_specification.h"

namespace gang::harness {

// Which program the ranks run, and what starts their processes.
class RankProcesses {
 public:
  static constexpr int default_world_size = 2;

  explicit RankProcesses(bool with_torch) : with_torch_(with_torch) {}

  Option program_option();
  void add_to(std::vector<Option>& options);

  // Throws InvalidArgument where the options do not fit each other, or `given`.
  void check(const RunSpecification& given) const;

  // A hint for each option of gangsim that stands behind the program and that the program gets.
  void note_misplaced(std::ostream& err) const;

  // Whether processes can be started for one run after another.
  bool can_repeat() const;
  bool are_free() const noexcept { return free_; }

  ConductorOptions conductor_options(const RunSpecification& given) const;
  // Of ranks whose output is shown; `by_default`: where none are chosen.
  RankSelection shown(std::string_view by_default) const;
  std::unique_ptr<RankLauncher> make_launcher(Conductor& conductor) const;
  PythonProgram python_program() const;
  // PROGRAM and its arguments: without a "--" between them, which says that all are its own.
  std::vector<std::string> words_of_program() const;

  std::string program_name() const;
  // " --python FILE", " --free": what was given of these options, and the program.
  std::string options_text() const;
  std::string words_text() const;

 private:
  ProcessEnvironment environment(const Conductor& conductor, const std::string& packages) const;
  bool starts_by_command() const;

  const bool with_torch_;
  std::vector<std::string> words_;
  std::string python_;
  std::string attach_;
  std::optional<std::string> log_ranks_;
  std::optional<Duration> stall_limit_;
  bool spawn_ = false;
  bool threads_ = false;
  bool free_ = false;
  bool cuda_as_cpu_ = false;
};

}  // namespace gang::harness
