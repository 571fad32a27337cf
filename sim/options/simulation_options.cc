#include "sim/options/simulation_options.h"

#include <charconv>

#include <fmt/format.h>

#include "gang/enum_names.h"
#include "gang/error.h"
#include "sim/faults/fault_plan.h"

namespace gang::sim {

ContextKind SimulationOptions::default_context() noexcept {
#ifdef GANGSIM_DEFAULT_CONTEXT_THREAD
  return ContextKind::thread;
#else
  return ContextKind::fiber;
#endif
}

void validate(const SimulationOptions& options) {
  constexpr std::size_t least_stack = 16 * 1024;
  constexpr int most_threads = 16'384;
  if (options.world_size < 1 || options.world_size > SimulationOptions::max_world_size)
    throw InvalidArgument(fmt::format("world size is {}; must be 1 to {}", options.world_size,
                                      SimulationOptions::max_world_size));
  if (options.context != ContextKind::fiber && options.world_size > most_threads)
    throw InvalidArgument(
        fmt::format("world size is {} on context {}; must be 1 to {} (fiber takes more)",
                    options.world_size, to_string(options.context), most_threads));
  if (options.timeout <= Duration::zero())
    throw InvalidArgument(fmt::format("timeout is {}; must be more than zero, or no_timeout",
                                      gang::to_string(options.timeout)));
  if (options.watchdog && *options.watchdog <= Duration::zero())
    throw InvalidArgument(fmt::format("watchdog is {}; must be more than zero, or none",
                                      gang::to_string(*options.watchdog)));
  if (options.watchdog && options.backend == SimulatedBackend::nccl)
    throw InvalidArgument("watchdog is set on sim-nccl, whose gangs have their own; must be none");
  if (options.stack_bytes < least_stack)
    throw InvalidArgument(fmt::format("stack size is {} bytes; must be {} or more",
                                      options.stack_bytes, least_stack));
  if (options.nccl.resident < 1)
    throw InvalidArgument(fmt::format("resident kernels per device are {}; must be 1 or more",
                                      options.nccl.resident));
  if (options.step_limit == 0) throw InvalidArgument("step limit is 0; must be 1 or more");
  if (options.reduction_threads < 1)
    throw InvalidArgument(
        fmt::format("reduction threads are {}; must be 1 or more", options.reduction_threads));
  if (options.faults) {
    if (options.context == ContextKind::parallel)
      throw InvalidArgument(
          "faults are set on context parallel; must be none, or the context fiber or thread");
    validate(*options.faults, options.world_size);
    check_drawn(*options.faults);
    check_injectable(*options.faults, options.backend);
  }
  const bool replays = options.scheduler == SchedulerKind::replay;
  if (replays != options.replay.has_value())
    throw InvalidArgument(replays ? "scheduler replay needs a schedule to replay"
                                  : "a schedule to replay needs scheduler replay");
  if (options.context == ContextKind::parallel && options.scheduler != SchedulerKind::round_robin)
    throw InvalidArgument(
        fmt::format("scheduler is {} on context parallel, where the operating system schedules; "
                    "must be the default",
                    to_string(options.scheduler)));
}

std::string_view to_string(ContextKind kind) noexcept { return name_of(context_kind_names, kind); }

std::string_view to_string(ExecutionModel model) noexcept {
  return name_of(execution_model_names, model);
}

std::string to_string(SendMode mode) {
  if (!mode.buffered_bytes) return "rendezvous";
  if (*mode.buffered_bytes == unlimited_bytes) return "unlimited";
  return fmt::format("buffered({})", *mode.buffered_bytes);
}

std::optional<ContextKind> parse_context_kind(std::string_view text) noexcept {
  return parse_name(context_kind_names, text);
}

std::optional<ExecutionModel> parse_execution_model(std::string_view text) noexcept {
  return parse_name(execution_model_names, text);
}

std::optional<SendMode> parse_send_mode(std::string_view text) noexcept {
  if (text == "rendezvous") return SendMode::rendezvous();
  if (text == "unlimited") return SendMode::unlimited();
  constexpr std::string_view prefix = "buffered(";
  if (!text.starts_with(prefix) || !text.ends_with(')')) return std::nullopt;
  const std::string_view digits = text.substr(prefix.size(), text.size() - prefix.size() - 1);
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return SendMode::buffered(bytes);
}

std::string to_string(IgnoredLeaks ignored) {
  if (ignored == IgnoredLeaks{}) return "none";
  if (!ignored.gang_not_closed) return "unwaited_work";
  return ignored.unwaited_work ? "unwaited_work,gang_not_closed" : "gang_not_closed";
}

std::optional<IgnoredLeaks> parse_ignored_leaks(std::string_view text) noexcept {
  IgnoredLeaks ignored;
  if (text == "none") return ignored;
  for (;;) {
    const std::size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    bool* const known = name == "unwaited_work"     ? &ignored.unwaited_work
                        : name == "gang_not_closed" ? &ignored.gang_not_closed
                                                    : nullptr;
    if (known == nullptr || *known) return std::nullopt;
    *known = true;
    if (comma == std::string_view::npos) return ignored;
    text.remove_prefix(comma + 1);
  }
}

void check_injectable(const FaultPlan& plan, SimulatedBackend backend) {
  for (std::size_t i = 0; i < plan.faults.size(); ++i) {
    const FaultKind kind = plan.faults[i].kind;
    const auto fail = [&plan, i, kind](std::string_view need) {
      throw FaultPlanError(i, "kind", fmt::format("{} needs {}", to_string(kind), need), plan);
    };
    if (is_of_store(kind)) fail("a store, which simulated gangs lack; use compare --backend gloo");
    const bool is_of_transport =
        kind == FaultKind::duplicate_message || kind == FaultKind::reorder_messages;
    if (is_of_transport && backend == SimulatedBackend::sim)
      fail("a transport, which backend sim lacks");
  }
}

}  // namespace gang::sim
