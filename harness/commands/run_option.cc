// The table of run's options: name, how it is set, how it is said.
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/backends/backend.h"
#include "harness/program_file/fault_file.h"
#include "harness/run/run_specification.h"
#include "harness/text/duration_text.h"
#include "harness/text/suggestion.h"

namespace gang::harness {
namespace {

[[noreturn]] void reject(std::string_view option, std::string_view text,
                         std::string_view accepted) {
  throw InvalidArgument(fmt::format("--{} is '{}'; accepted: {}", option, text, accepted));
}

std::uint64_t parse_whole(std::string_view option, std::string_view text, std::uint64_t minimum,
                          std::uint64_t maximum) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || value < minimum || value > maximum) {
    reject(option, text, fmt::format("{} to {}", minimum, maximum));
  }
  return value;
}

bool parse_flag(std::string_view option, std::string_view text) {
  if (text == "true") return true;
  if (text != "false") reject(option, text, "true, false");
  return false;
}

std::optional<sim::SendMode> parse_sends(std::string_view text) {
  constexpr std::string_view prefix = "buffered:";
  if (!text.starts_with(prefix)) return sim::parse_send_mode(text);
  std::uint64_t bytes = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + prefix.size(), end, bytes);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return sim::SendMode::buffered(bytes);
}

// The text of `value` unless it is what a new specification has.
template <typename T, typename Print>
std::optional<std::string> unless_default(const T& value, const T& default_value,
                                          const Print& print) {
  if (value == default_value) return std::nullopt;
  return std::string{print(value)};
}

const RunSpecification& defaults() {
  static const RunSpecification specification;
  return specification;
}

// The option of an enum member that `parse` reads and to_string prints.
template <typename T, typename Parse>
RunOption choice_option(std::string name, std::string description, T RunSpecification::* member,
                        std::string choices, Parse parse) {
  RunOption option{.name = name, .value_name = "KIND", .description = std::move(description)};
  option.set = [name, member, choices, parse](RunSpecification& specification,
                                              std::string_view text) {
    const auto value = parse(text);
    if (!value) reject(name, text, choices);
    specification.*member = *value;
  };
  option.text = [member](const RunSpecification& specification) {
    return unless_default(specification.*member, defaults().*member,
                          [](const T& value) { return to_string(value); });
  };
  return option;
}

RunOption flag_option(std::string name, std::string description,
                      std::function<void(RunSpecification&, bool)> set,
                      std::function<bool(const RunSpecification&)> get) {
  RunOption option{.name = name,
                   .value_name = "",
                   .description = std::move(description),
                   .form = RunOption::Form::flag};
  option.set = [name, set](RunSpecification& specification, std::string_view text) {
    set(specification, parse_flag(name, text));
  };
  option.text = [get](const RunSpecification& specification) {
    return get(specification) ? std::optional<std::string>{"true"} : std::nullopt;
  };
  return option;
}

std::optional<ScheduleChoice> parse_schedule_choice(std::string_view text) {
  for (const auto choice :
       {ScheduleChoice::round_robin, ScheduleChoice::random, ScheduleChoice::recheck}) {
    if (text == to_string(choice)) return choice;
  }
  return std::nullopt;
}

std::optional<Verification> parse_verification(std::string_view text) {
  for (const auto verification : {Verification::none, Verification::replicas})
    if (text == to_string(verification)) return verification;
  return std::nullopt;
}

RunOption world_option() {
  return {.name = "world",
          .value_name = "N",
          .description = fmt::format("number of ranks, 1 to {} [the program's own]",
                                     sim::SimulationOptions::max_world_size),
          .set =
              [](RunSpecification& specification, std::string_view text) {
                specification.world_size = static_cast<int>(
                    parse_whole("world", text, 1, sim::SimulationOptions::max_world_size));
              },
          .text =
              [](const RunSpecification& specification) {
                return specification.world_size
                           ? std::optional{fmt::format("{}", *specification.world_size)}
                           : std::nullopt;
              }};
}

RunOption backend_option() {
  return {.name = "backend",
          .value_name = "NAME",
          .description = "what carries the operations: see 'list backends' [sim]",
          .set = [](RunSpecification& specification,
                    std::string_view text) { specification.backend = find_backend(text).name; },
          .text =
              [](const RunSpecification& specification) {
                return unless_default(specification.backend, defaults().backend,
                                      [](const std::string& name) { return name; });
              }};
}

RunOption seed_option() {
  return {.name = "seed",
          .value_name = "S",
          .description = "of schedules and random data [1]",
          .set =
              [](RunSpecification& specification, std::string_view text) {
                specification.seed =
                    parse_whole("seed", text, 0, std::numeric_limits<std::uint64_t>::max());
              },
          .text =
              [](const RunSpecification& specification) {
                return std::optional{fmt::format("{}", specification.seed)};
              }};
}

RunOption timeout_option() {
  return {.name = "timeout",
          .value_name = "DURATION",
          .description = "of every operation, in virtual time: 5ms, 2s, none [15min]",
          .set =
              [](RunSpecification& specification, std::string_view text) {
                const Duration timeout = parse_duration(text);
                if (timeout == Duration::zero()) reject("timeout", text, "more than 0, or none");
                specification.timeout = timeout;
              },
          .text =
              [](const RunSpecification& specification) {
                return unless_default(specification.timeout, defaults().timeout,
                                      [](Duration timeout) { return to_duration_text(timeout); });
              }};
}

RunOption watchdog_option() {
  return {.name = "watchdog",
          .value_name = "DURATION",
          .description =
              "of every rank: what waits longer, also unawaited, times out, and the rank\n"
              "aborts its other gangs, as torch's asynchronous error handling does [none]",
          .set =
              [](RunSpecification& specification, std::string_view text) {
                const Duration watchdog = parse_duration(text);
                if (watchdog == Duration::zero()) reject("watchdog", text, "more than 0, or none");
                specification.watchdog.reset();
                if (watchdog != no_timeout) specification.watchdog = watchdog;
              },
          .text =
              [](const RunSpecification& specification) {
                return specification.watchdog
                           ? std::optional{to_duration_text(*specification.watchdog)}
                           : std::nullopt;
              }};
}

RunOption sends_option() {
  return {.name = "sends",
          .value_name = "MODE",
          .description = "rendezvous, or buffered:BYTES per pair of ranks [rendezvous]",
          .set =
              [](RunSpecification& specification, std::string_view text) {
                const auto mode = parse_sends(text);
                if (!mode) reject("sends", text, "rendezvous, buffered:BYTES");
                specification.sends = *mode;
              },
          .text =
              [](const RunSpecification& specification) {
                const auto& bytes = specification.sends.buffered_bytes;
                return bytes ? std::optional{fmt::format("buffered:{}", *bytes)} : std::nullopt;
              }};
}

RunOption nccl_option() {
  return {.name = "nccl",
          .value_name = "PARTS",
          .description =
              "of sim-nccl: resident=N kernels at a time, order=host or any of\n"
              "launches, links=device or sockets, launch=async or blocking\n"
              "[resident=1,order=host,links=device,launch=async]",
          .set =
              [](RunSpecification& specification, std::string_view text) {
                const auto model = sim::parse_nccl_model(text);
                if (!model)
                  reject("nccl", text,
                         "resident=N, order=host|any, links=device|sockets, launch=async|blocking");
                specification.nccl = *model;
              },
          .text =
              [](const RunSpecification& specification) {
                return unless_default(specification.nccl, defaults().nccl,
                                      [](const sim::NcclModel& model) { return to_string(model); });
              }};
}

RunOption step_limit_option() {
  return {.name = "step-limit",
          .value_name = "N",
          .description = "stop after N switches between ranks [none]",
          .set =
              [](RunSpecification& specification, std::string_view text) {
                specification.step_limit =
                    parse_whole("step-limit", text, 1, std::numeric_limits<std::uint64_t>::max());
              },
          .text =
              [](const RunSpecification& specification) {
                return specification.step_limit
                           ? std::optional{fmt::format("{}", *specification.step_limit)}
                           : std::nullopt;
              }};
}

RunOption faults_option() {
  return {.name = "faults",
          .value_name = "PLAN",
          .description =
              "what goes wrong: light, swarm, production, byzantine, a .toml file, none [none]",
          .set =
              [](RunSpecification& specification, std::string_view text) {
                specification.faults = load_faults(text);
                if (specification.faults->faults.empty()) specification.faults.reset();
              },
          .text =
              [](const RunSpecification& specification) {
                const auto& faults = specification.faults;
                if (!faults) return std::optional<std::string>{};
                return std::optional{faults->name.empty() ? to_toml_line(*faults) : faults->name};
              }};
}

std::vector<RunOption> make_run_options() {
  using sim::DeadlockSearch;
  using sim::PendingTimeouts;
  return {
      world_option(),
      seed_option(),
      choice_option("schedule", "round_robin, random, or recheck: random, twice [round_robin]",
                    &RunSpecification::schedule, "round_robin, random, recheck",
                    parse_schedule_choice),
      choice_option("context", "what carries a rank: fiber, thread, parallel",
                    &RunSpecification::context, "fiber, thread, parallel", sim::parse_context_kind),
      choice_option("execution", "independent, or stream_ordered as on one stream [independent]",
                    &RunSpecification::execution, "independent, stream_ordered",
                    sim::parse_execution_model),
      sends_option(),
      backend_option(),
      nccl_option(),
      timeout_option(),
      watchdog_option(),
      flag_option(
          "let-timeouts-fire", "at a deadlock, go on to the operations' timeouts",
          [](RunSpecification& specification, bool on) {
            specification.pending_timeouts =
                on ? PendingTimeouts::fire : PendingTimeouts::are_deadlocks;
          },
          [](const RunSpecification& specification) {
            return specification.pending_timeouts == PendingTimeouts::fire;
          }),
      flag_option(
          "strict-blocking", "a blocking call does not match a start_ call",
          [](RunSpecification& specification, bool on) { specification.strict_blocking = on; },
          [](const RunSpecification& specification) { return specification.strict_blocking; }),
      flag_option(
          "find-partial", "end at a deadlock of some ranks while others still run",
          [](RunSpecification& specification, bool on) {
            specification.deadlock_search =
                on ? DeadlockSearch::while_others_run : DeadlockSearch::at_rest;
          },
          [](const RunSpecification& specification) {
            return specification.deadlock_search == DeadlockSearch::while_others_run;
          }),
      step_limit_option(),
      choice_option("verify", "replicas: find results that should be equal and are not [none]",
                    &RunSpecification::verify, "none, replicas", parse_verification),
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
  for (char& character : wanted) {
    if (character == '_') character = '-';
  }
  std::vector<std::string> names;
  for (const RunOption& option : run_options()) {
    if (option.name == wanted) return option.set(specification, text);
    names.push_back(option.name);
  }
  throw InvalidArgument("option " + unknown_name(name, names));
}

}  // namespace gang::harness
