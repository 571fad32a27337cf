// The built-in fault plans.
#include <utility>

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

// A fault of that kind and weight; `rest` holds its other fields.
Fault weighted(FaultKind kind, double weight, FaultTrigger trigger, Fault rest = {}) {
  rest.kind = kind;
  rest.weight = weight;
  rest.trigger = std::move(trigger);
  return rest;
}

FaultPlan light() {
  using enum FaultKind;
  return {.name = "light",
          .faults = {weighted(crash, 1, somewhere(), {.notice = {{0ms, 1s}}}),
                     weighted(exception, 1, {.operation = any_operation}),
                     weighted(slow, 1, {.operation = any_operation},
                              {.lasts = {{1s, 1min}}, .delay = {{1ms, 100ms}}})},
          .selection = FaultSelection::picked};
}

// At most one, at any place: all its cases can be explored.
FaultPlan one_crash() {
  return {.name = "one_crash",
          .faults = {
              {.kind = FaultKind::crash,
               .chance = 0.9,
               .trigger = {.operation = Between<std::uint64_t>(0, 99), .moment = FaultMoment::any},
               .notice = Between<Duration>(1s)}}};
}

// Weighted by how often a large training job sees each of them. Source: the causes of the 419
// unexpected interruptions of Llama 3 405B's training (arXiv 2407.21783), with fail-slow after
// Greyhound (arXiv 2410.12588); a node at once: host maintenance, power, chassis.
FaultPlan production() {
  using enum FaultKind;
  const FaultTrigger before_any{.operation = any_operation};
  const FaultTrigger inside_any{.operation = any_operation, .moment = FaultMoment::inside};
  return {
      .name = "production",
      .faults = {weighted(crash, 0.30, somewhere(), {.notice = {{0ms, 5s}}}),
                 weighted(crash, 0.13, somewhere()),
                 weighted(crash, 0.05, somewhere(), {.random_nodes = 1, .notice = {{0ms, 5s}}}),
                 weighted(restart, 0.02, somewhere(),
                          {.delay = {{1s, 1min}}, .notice = {{0ms, 5s}}}),
                 weighted(exit, 0.04, before_any), weighted(exception, 0.04, before_any),
                 weighted(stall, 0.10, before_any), weighted(stall, 0.08, inside_any),
                 weighted(watchdog_abort, 0.02, before_any),
                 weighted(partition, 0.04, {.time = {{0ms, 1min}}}),
                 weighted(slow, 0.03, before_any,
                          {.lasts = Between<Duration>(10min), .delay = {{1ms, 1s}}, .factor = 1.5}),
                 weighted(slow_link, 0.07, {},
                          {.lasts = Between<Duration>(24min), .delay = {{1ms, 2s}}}),
                 weighted(late_start, 0.06, {}, {.delay = {{1s, 20min}}}),
                 weighted(corrupt_result, 0.02, before_any)},
      .selection = FaultSelection::picked};
}

FaultPlan byzantine() {
  using enum FaultKind;
  const FaultTrigger before_any{.operation = any_operation};
  return {.name = "byzantine",
          .faults = {weighted(corrupt_result, 3, before_any),
                     weighted(corrupt_result, 1, before_any, {.corruption = Corruption::nan}),
                     weighted(corrupt_contribution, 2, before_any),
                     weighted(corrupt_message, 1, {.message = any_message})},
          .selection = FaultSelection::picked,
          .mean = 1.5};
}

// Every fault of `production` that does not corrupt data silently, and more; a few at a time.
FaultPlan swarm() {
  FaultPlan plan = production();
  plan.name = "swarm";
  plan.selection = FaultSelection::swarm;
  plan.mean = 3;
  std::erase_if(plan.faults,
                [](const Fault& fault) { return fault.kind == FaultKind::corrupt_result; });
  for (Fault& fault : plan.faults) fault.weight = 1;
  using enum FaultKind;
  const FaultTrigger at_message{.message = any_message};
  plan.faults.push_back(weighted(drop_message, 1, at_message));
  plan.faults.push_back(weighted(delay_message, 1, at_message, {.delay = {{1ms, 20min}}}));
  plan.faults.push_back(weighted(stall, 1, somewhere(), {.lasts = {{1s, 30min}}}));
  plan.faults.push_back(
      weighted(late_copy, 1, {.operation = any_operation}, {.delay = {{1ms, 1min}}}));
  return plan;
}

}  // namespace

const std::vector<std::string>& fault_preset_names() {
  static const std::vector<std::string> names = {"none",  "one_crash",  "light",
                                                 "swarm", "production", "byzantine"};
  return names;
}

FaultPlan fault_preset(std::string_view name) {
  if (name == "none") return {.name = "none"};
  if (name == "one_crash") return one_crash();
  if (name == "light") return light();
  if (name == "swarm") return swarm();
  if (name == "production") return production();
  if (name == "byzantine") return byzantine();
  throw InvalidArgument(
      fmt::format("fault plan '{}' is unknown; must be one of: {}, or a .toml file", name,
                  fmt::join(fault_preset_names(), ", ")));
}

}  // namespace gang::sim
