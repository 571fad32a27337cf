#include "sim/options/simulation_options.h"

#include <charconv>

#include <fmt/format.h>

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
    throw InvalidArgument(fmt::format("world size is {}; accepted is 1 to {}", options.world_size,
                                      SimulationOptions::max_world_size));
  if (options.context != ContextKind::fiber && options.world_size > most_threads)
    throw InvalidArgument(
        fmt::format("world size is {} on context {}; accepted is 1 to {} there (fiber takes more)",
                    options.world_size, to_string(options.context), most_threads));
  if (options.timeout <= Duration::zero())
    throw InvalidArgument(fmt::format("timeout is {}; accepted is more than zero, or no_timeout",
                                      gang::to_string(options.timeout)));
  if (options.watchdog && *options.watchdog <= Duration::zero())
    throw InvalidArgument(fmt::format("watchdog is {}; accepted is more than zero, or none",
                                      gang::to_string(*options.watchdog)));
  if (options.watchdog && options.backend == SimulatedBackend::nccl)
    throw InvalidArgument("watchdog on sim-nccl, whose gangs bring one; accepted there is none");
  if (options.stack_bytes < least_stack)
    throw InvalidArgument(fmt::format("stack size is {} bytes; accepted is {} or more",
                                      options.stack_bytes, least_stack));
  if (options.nccl.resident < 1)
    throw InvalidArgument(fmt::format("resident kernels of a device are {}; accepted is 1 or more",
                                      options.nccl.resident));
  if (options.step_limit == 0) throw InvalidArgument("step limit is 0; accepted is 1 or more");
  if (options.reduction_threads < 1)
    throw InvalidArgument(
        fmt::format("reduction threads are {}; accepted is 1 or more", options.reduction_threads));
  if (options.faults) {
    if (options.context == ContextKind::parallel)
      throw InvalidArgument(
          "faults on context parallel; accepted there is none: use fiber or thread");
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
                    "accepted is none other than the default",
                    to_string(options.scheduler)));
}

std::string_view to_string(ContextKind kind) noexcept {
  switch (kind) {
    case ContextKind::fiber:
      return "fiber";
    case ContextKind::thread:
      return "thread";
    case ContextKind::parallel:
      return "parallel";
  }
  return "";
}

std::string_view to_string(ExecutionModel model) noexcept {
  return model == ExecutionModel::independent ? "independent" : "stream_ordered";
}

std::string to_string(SendMode mode) {
  return mode.buffered_bytes ? fmt::format("buffered({})", *mode.buffered_bytes) : "rendezvous";
}

std::optional<ContextKind> parse_context_kind(std::string_view text) noexcept {
  for (const auto kind : {ContextKind::fiber, ContextKind::thread, ContextKind::parallel})
    if (text == to_string(kind)) return kind;
  return std::nullopt;
}

std::optional<ExecutionModel> parse_execution_model(std::string_view text) noexcept {
  for (const auto model : {ExecutionModel::independent, ExecutionModel::stream_ordered})
    if (text == to_string(model)) return model;
  return std::nullopt;
}

std::optional<SendMode> parse_send_mode(std::string_view text) noexcept {
  if (text == "rendezvous") return SendMode::rendezvous();
  constexpr std::string_view prefix = "buffered(";
  if (!text.starts_with(prefix) || !text.ends_with(')')) return std::nullopt;
  const std::string_view digits = text.substr(prefix.size(), text.size() - prefix.size() - 1);
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bytes);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return SendMode::buffered(bytes);
}

void check_injectable(const FaultPlan& plan, SimulatedBackend backend) {
  for (std::size_t i = 0; i < plan.faults.size(); ++i) {
    const FaultKind kind = plan.faults[i].kind;
    if (is_of_store(kind))
      throw FaultPlanError(
          i, "kind",
          fmt::format("{} needs a store, which simulated gangs lack; use compare --backend gloo",
                      to_string(kind)));
    const bool is_of_transport =
        kind == FaultKind::duplicate_message || kind == FaultKind::reorder_messages;
    if (is_of_transport && backend == SimulatedBackend::sim)
      throw FaultPlanError(
          i, "kind", fmt::format("{} needs a transport, which backend sim lacks", to_string(kind)));
  }
}

}  // namespace gang::sim
