// The enumerations that have names.
#include <array>

#include <fmt/format.h>

#include "gang/data_type.h"
#include "gang/operation_kind.h"
#include "gang/reduce_operation.h"
#include "properties/texts_round_trip.h"
#include "sim/options/simulation_options.h"

namespace gang::properties {
namespace {

// Every value of an enumeration, with its to_string and parse functions.
template <typename Values, typename Parse>
void add_names(const char* enumeration, const Values& values, Parse parse,
               std::vector<NamedValue>& names) {
  for (const auto value : values)
    names.push_back({enumeration, std::string(to_string(value)),
                     [parse, value](const std::string& text) { return parse(text) == value; },
                     [parse](const std::string& text) { return !parse(text).has_value(); }});
}

Verdict judge_name(const NamedValue& value) {
  if (value.name.empty()) return Verdict::violated("it has no name");
  if (!value.parses_to_it(value.name)) return Verdict::violated("its name does not parse to it");
  for (const std::string& other :
       {value.name + "x", "x" + value.name, value.name + " ", std::string()}) {
    if (!value.is_rejected(other))
      return Verdict::violated(fmt::format("'{}' is accepted too", other));
  }
  return Verdict::holds();
}

}  // namespace

std::string to_text(const NamedValue& value) {
  return fmt::format("{} '{}'", value.enumeration, value.name);
}

std::vector<NamedValue> shrinks(const NamedValue&) { return {}; }

std::vector<NamedValue> all_named_values() {
  std::vector<NamedValue> names;
  add_names("data type", all_data_types, parse_data_type, names);
  add_names("reduce operation", all_reduce_operations, parse_reduce_operation, names);
  add_names("operation kind", all_operation_kinds, parse_operation_kind, names);
  using enum sim::SchedulerKind;
  add_names("scheduler", std::array{round_robin, random, replay}, sim::parse_scheduler_kind, names);
  using enum sim::ContextKind;
  add_names("context", std::array{fiber, thread, parallel}, sim::parse_context_kind, names);
  using enum sim::ExecutionModel;
  add_names("execution model", std::array{independent, stream_ordered}, sim::parse_execution_model,
            names);
  return names;
}

Property names_round_trip(const std::vector<NamedValue>& values) {
  return to_property(
      Law<NamedValue>{.suite = "texts_round_trip",
                      .name = "names_of_enumerations",
                      .description = "Every name parses to its value, and nothing else does.",
                      .enumerate = [values](int) { return values; },
                      .verdict = judge_name});
}

}  // namespace gang::properties
