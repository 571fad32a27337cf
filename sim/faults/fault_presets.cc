// Plans that need no file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/faults/fault_plan.h"

namespace gang::sim {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""min;

const Between<std::uint64_t> any_operation{0, 15};
const Between<std::uint64_t> any_message{0, 7};

// At one of a rank's first operations, at a drawn moment.
FaultTrigger somewhere() { return {.operation = any_operation, .moment = FaultMoment::any}; }

FaultPlan light() {
  return {.name = "light",
          .faults = {{.kind = FaultKind::crash, .trigger = somewhere(), .notice = {{0ms, 1s}}},
                     {.kind = FaultKind::exception, .trigger = {.operation = any_operation}},
                     {.kind = FaultKind::slow,
                      .trigger = {.operation = any_operation},
                      .lasts = {{1s, 1min}},
                      .delay = {{1ms, 100ms}}}},
          .selection = FaultSelection::picked};
}

// Shares of what the other ranks of a large training job see. Source: the causes of the 419
// unexpected interruptions of Llama 3 405B's training (arXiv 2407.21783), with fail-slow after
// Greyhound (arXiv 2410.12588); a node at once: host maintenance, power, chassis.
FaultPlan production() {
  return {
      .name = "production",
      .faults = {{.kind = FaultKind::crash,
                  .weight = 0.30,
                  .trigger = somewhere(),
                  .notice = {{0ms, 5s}}},
                 {.kind = FaultKind::crash, .weight = 0.13, .trigger = somewhere()},
                 {.kind = FaultKind::crash,
                  .random_nodes = 1,
                  .weight = 0.05,
                  .trigger = somewhere(),
                  .notice = {{0ms, 5s}}},
                 {.kind = FaultKind::restart,
                  .weight = 0.02,
                  .trigger = somewhere(),
                  .delay = {{1s, 1min}},
                  .notice = {{0ms, 5s}}},
                 {.kind = FaultKind::exit, .weight = 0.04, .trigger = {.operation = any_operation}},
                 {.kind = FaultKind::exception,
                  .weight = 0.04,
                  .trigger = {.operation = any_operation}},
                 {.kind = FaultKind::stall,
                  .weight = 0.10,
                  .trigger = {.operation = any_operation, .moment = FaultMoment::before}},
                 {.kind = FaultKind::stall,
                  .weight = 0.08,
                  .trigger = {.operation = any_operation, .moment = FaultMoment::inside}},
                 {.kind = FaultKind::watchdog_abort,
                  .weight = 0.02,
                  .trigger = {.operation = any_operation}},
                 {.kind = FaultKind::partition, .weight = 0.04, .trigger = {.time = {{0ms, 1min}}}},
                 {.kind = FaultKind::slow,
                  .weight = 0.03,
                  .trigger = {.operation = any_operation},
                  .lasts = Between<Duration>(10min),
                  .delay = {{1ms, 1s}},
                  .factor = 1.5},
                 {.kind = FaultKind::slow_link,
                  .weight = 0.07,
                  .lasts = Between<Duration>(24min),
                  .delay = {{1ms, 2s}}},
                 {.kind = FaultKind::late_start, .weight = 0.06, .delay = {{1s, 20min}}},
                 {.kind = FaultKind::corrupt_result,
                  .weight = 0.02,
                  .trigger = {.operation = any_operation}}},
      .selection = FaultSelection::picked};
}

FaultPlan byzantine() {
  return {.name = "byzantine",
          .faults = {{.kind = FaultKind::corrupt_result,
                      .weight = 3,
                      .trigger = {.operation = any_operation}},
                     {.kind = FaultKind::corrupt_result,
                      .weight = 1,
                      .trigger = {.operation = any_operation},
                      .corruption = Corruption::nan},
                     {.kind = FaultKind::corrupt_contribution,
                      .weight = 2,
                      .trigger = {.operation = any_operation}},
                     {.kind = FaultKind::corrupt_message,
                      .weight = 1,
                      .trigger = {.message = any_message}}},
          .selection = FaultSelection::picked,
          .mean = 1.5};
}

// Everything that is not silent, a few at a time.
FaultPlan swarm() {
  FaultPlan plan = production();
  plan.name = "swarm";
  plan.selection = FaultSelection::swarm;
  plan.mean = 3;
  std::erase_if(plan.faults,
                [](const Fault& fault) { return fault.kind == FaultKind::corrupt_result; });
  for (Fault& fault : plan.faults) fault.weight = 1;
  plan.faults.push_back({.kind = FaultKind::drop_message, .trigger = {.message = any_message}});
  plan.faults.push_back({.kind = FaultKind::delay_message,
                         .trigger = {.message = any_message},
                         .delay = {{1ms, 20min}}});
  plan.faults.push_back({.kind = FaultKind::stall,
                         .trigger = {.operation = any_operation, .moment = FaultMoment::any},
                         .lasts = {{1s, 30min}}});
  plan.faults.push_back({.kind = FaultKind::late_copy,
                         .trigger = {.operation = any_operation},
                         .delay = {{1ms, 1min}}});
  return plan;
}

}  // namespace

const std::vector<std::string>& fault_preset_names() {
  static const std::vector<std::string> names = {"none", "light", "swarm", "production",
                                                 "byzantine"};
  return names;
}

FaultPlan fault_preset(std::string_view name) {
  if (name == "none") return {.name = "none"};
  if (name == "light") return light();
  if (name == "swarm") return swarm();
  if (name == "production") return production();
  if (name == "byzantine") return byzantine();
  throw InvalidArgument(
      fmt::format("fault plan '{}' is unknown; must be one of: {}, or a .toml file", name,
                  fmt::join(fault_preset_names(), ", ")));
}

}  // namespace gang::sim
