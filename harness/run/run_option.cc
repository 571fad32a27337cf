// The table of run's options: name, how it is set, how it is written.
#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/run/fault_file.h"
#include "harness/run/run_specification.h"
#include "harness/text/suggestion.h"

namespace gang::harness {
namespace {

using sim::DeadlockSearch;
using sim::PendingTimeouts;

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void reject(std::string_view option, std::string_view text,
                         std::string_view accepted) {
  throw InvalidArgument(fmt::format("--{} is '{}'; must be {}", option, text, accepted));
}

// The option of what `member` refers to; `parse(option, text)` reads it, `print` writes it.
template <typename Member, typename Parse, typename Print>
RunOption option_of(std::string name, std::string value_name, std::string description,
                    Member member, Parse parse, Print print) {
  RunOption option{
      .name = name, .value_name = std::move(value_name), .description = std::move(description)};
  option.set = [name = std::move(name), member, parse](RunSpecification& specification,
                                                       std::string_view text) {
    member(specification) = parse(name, text);
  };
  option.text = [member,
                 print](const RunSpecification& specification) -> std::optional<std::string> {
    static const RunSpecification defaults;
    if (member(specification) == member(defaults)) return std::nullopt;
    return std::string{print(member(specification))};
  };
  return option;
}

template <typename Table, typename Member>
RunOption choice_option(std::string name, std::string description, const Table& names,
                        Member member) {
  return option_of(
      std::move(name), "KIND", std::move(description), member,
      [&names](std::string_view option, std::string_view text) {
        const auto value = parse_name(names, text);
        if (!value) reject(option, text, "one of: " + list_names(names));
        return *value;
      },
      [&names](auto value) { return name_of(names, value); });
}

template <typename Member, typename T>
RunOption flag_option(std::string name, std::string description, Member member, T off, T on) {
  RunOption flag = option_of(
      std::move(name), "", std::move(description), member,
      [off, on](std::string_view option, std::string_view text) {
        if (text != "true" && text != "false") reject(option, text, "one of: true, false");
        return text == "true" ? on : off;
      },
      [](T) { return "true"; });
  flag.form = RunOption::Form::flag;
  return flag;
}

template <typename T, typename Member, typename Print>
RunOption number_option(std::string name, std::string value_name, std::string description,
                        Member member, T minimum, T maximum, Print print) {
  return option_of(
      std::move(name), std::move(value_name), std::move(description), member,
      [minimum, maximum](std::string_view option, std::string_view text) {
        T value = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, value);
        if (error != std::errc{} || stop != end || value < minimum || value > maximum)
          reject(option, text, fmt::format("{} to {}", minimum, maximum));
        return value;
      },
      print);
}

Duration parse_positive(std::string_view option, std::string_view text) {
  try {
    const Duration duration = parse_duration(text);
    if (duration > Duration::zero()) return duration;
  } catch (const InvalidArgument&) {
    reject(option, text, "a number with ns, us, ms, s, min or h (5ms, 1.5s), or none");
  }
  reject(option, text, "more than 0, or none");
}

std::string print_number(std::uint64_t number) { return fmt::format("{}", number); }

RunOption world_option() {
  constexpr int most = sim::SimulationOptions::max_world_size;
  return number_option(
      "world", "N", fmt::format("number of ranks, 1 to {} [as the program says]", most),
      [](auto& s) -> auto& { return s.world_size; }, 1, most,
      [](std::optional<int> world) { return fmt::format("{}", *world); });
}

// Always written, so that a command line that is repeated later still means the same.
RunOption seed_option() {
  RunOption option = number_option(
      "seed", "S", "seed for schedules and random data [1]",
      [](auto& s) -> auto& { return s.options.seed; }, std::uint64_t{0}, largest, print_number);
  option.text = [](const RunSpecification& specification) {
    return std::optional{print_number(specification.options.seed)};
  };
  return option;
}

RunOption timeout_option() {
  return option_of(
      "timeout", "DURATION", "timeout of each operation, in virtual time: 5ms, 2s, none [15min]",
      [](auto& s) -> auto& { return s.options.timeout; }, parse_positive, to_duration_text);
}

RunOption watchdog_option() {
  return option_of(
      "watchdog", "DURATION",
      "watchdog of each rank: an operation that waits longer times out, even if the "
      "rank is not waiting for it, and the rank aborts its other gangs, as with "
      "torch's asynchronous error handling [none]",
      [](auto& s) -> auto& { return s.options.watchdog; },
      [](std::string_view option, std::string_view text) {
        const Duration duration = parse_positive(option, text);
        return duration == no_timeout ? std::nullopt : std::optional{duration};
      },
      [](std::optional<Duration> watchdog) { return to_duration_text(*watchdog); });
}

RunOption sends_option() {
  return option_of(
      "sends", "MODE", "rendezvous, buffered:BYTES per pair of ranks, or unlimited [rendezvous]",
      [](auto& s) -> auto& { return s.options.sends; },
      [](std::string_view option, std::string_view text) {
        constexpr std::string_view buffered = "buffered:";
        // sim writes "buffered(4096)", which a shell does not take.
        const auto mode = sim::parse_send_mode(
            text.starts_with(buffered) ? fmt::format("buffered({})", text.substr(buffered.size()))
                                       : std::string{text});
        if (!mode) reject(option, text, "rendezvous, buffered:BYTES or unlimited");
        return *mode;
      },
      [](sim::SendMode mode) {
        return mode == sim::SendMode::unlimited()
                   ? to_string(mode)
                   : fmt::format("buffered:{}", *mode.buffered_bytes);
      });
}

RunOption ignored_leaks_option() {
  return option_of(
      "ignore-leaks", "KINDS",
      "leaks not to report: unwaited_work, gang_not_closed, or both, separated by "
      "a comma [none]",
      [](auto& s) -> auto& { return s.options.ignored_leaks; },
      [](std::string_view option, std::string_view text) {
        const auto ignored = sim::parse_ignored_leaks(text);
        if (!ignored)
          reject(option, text,
                 "unwaited_work, gang_not_closed, unwaited_work,gang_not_closed or none");
        return *ignored;
      },
      [](sim::IgnoredLeaks ignored) { return to_string(ignored); });
}

RunOption backend_option() {
  return option_of(
      "backend", "NAME", "what carries out the operations: see 'list backends' [sim]",
      [](auto& s) -> auto& { return s.backend; },
      [](std::string_view, std::string_view text) { return parse_backend(text); },
      [](BackendKind kind) { return to_string(kind); });
}

RunOption nccl_option() {
  return option_of(
      "nccl", "PARTS",
      "for sim-nccl: resident=N kernels at a time, order=host or any (order of "
      "launches), links=device or sockets, launch=async or blocking "
      "[resident=1,order=host,links=device,launch=async]",
      [](auto& s) -> auto& { return s.options.nccl; },
      [](std::string_view option, std::string_view text) {
        const auto model = sim::parse_nccl_model(text);
        if (!model)
          reject(option, text,
                 "any of: resident=N, order=host|any, links=device|sockets, "
                 "launch=async|blocking");
        return *model;
      },
      [](const sim::NcclModel& model) { return to_string(model); });
}

RunOption faults_option() {
  return option_of(
      "faults", "PLAN",
      "faults to inject: one_crash, light, swarm, production, byzantine, a "
      ".toml file, or none [none]",
      [](auto& s) -> auto& { return s.faults; },
      [](std::string_view, std::string_view text) {
        std::optional<sim::FaultPlan> plan = load_faults(text);
        if (plan->faults.empty()) plan.reset();
        return plan;
      },
      [](const std::optional<sim::FaultPlan>& plan) {
        return plan->name.empty() ? to_toml_line(*plan) : plan->name;
      });
}

std::vector<RunOption> make_run_options() {
  return {
      world_option(),
      seed_option(),
      choice_option("schedule", "round_robin, random, or recheck: random, twice [round_robin]",
                    schedule_choice_names, [](auto& s) -> auto& { return s.schedule; }),
      choice_option("context",
                    fmt::format("what runs a rank: fiber, thread or parallel [{}]",
                                to_string(sim::SimulationOptions::default_context())),
                    sim::context_kind_names, [](auto& s) -> auto& { return s.options.context; }),
      choice_option("execution", "independent, or stream_ordered as on one stream [independent]",
                    sim::execution_model_names,
                    [](auto& s) -> auto& { return s.options.execution; }),
      sends_option(),
      backend_option(),
      nccl_option(),
      timeout_option(),
      watchdog_option(),
      flag_option(
          "let-timeouts-fire", "at a deadlock, let the pending timeouts fire",
          [](auto& s) -> auto& { return s.options.pending_timeouts; },
          PendingTimeouts::are_deadlocks, PendingTimeouts::fire),
      flag_option(
          "strict-blocking", "a blocking call does not match a start_ call",
          [](auto& s) -> auto& { return s.options.strict_blocking; }, false, true),
      flag_option(
          "find-partial", "stop at a deadlock of some ranks while others still run",
          [](auto& s) -> auto& { return s.options.deadlock_search; }, DeadlockSearch::at_rest,
          DeadlockSearch::while_others_run),
      ignored_leaks_option(),
      number_option(
          "step-limit", "N", "stop after N switches between ranks [none]",
          [](auto& s) -> auto& { return s.options.step_limit; }, std::uint64_t{1}, largest,
          print_number),
      choice_option("verify", "replicas: find results that should be equal but differ [none]",
                    verification_names, [](auto& s) -> auto& { return s.verify; }),
      faults_option(),
  };
}

}  // namespace

const std::vector<RunOption>& run_options() {
  static const std::vector<RunOption> options = make_run_options();
  return options;
}

void set_option(RunSpecification& specification, std::string_view name, std::string_view text) {
  std::string wanted{name};
  std::ranges::replace(wanted, '_', '-');
  std::vector<std::string> names;
  for (const RunOption& option : run_options()) {
    if (option.name == wanted) return option.set(specification, text);
    names.push_back(option.name);
  }
  throw InvalidArgument("option " + unknown_name(name, names));
}

}  // namespace gang::harness
