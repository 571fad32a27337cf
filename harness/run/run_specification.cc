#include "harness/run/run_specification.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"

namespace gang::harness {
namespace {

using nlohmann::json;

// Calls `use` for every entry of the object `field` of `from`, all of which must be texts.
template <typename Use>
void for_each_text(const json& from, std::string_view field, const Use& use) {
  const auto found = from.find(field);
  if (found == from.end() || !found->is_object()) {
    throw InvalidArgument(fmt::format("specification.{} is missing or no object", field));
  }
  for (const auto& [key, value] : found->items()) {
    if (!value.is_string()) {
      throw InvalidArgument(fmt::format("specification.{}.{} is no text", field, key));
    }
    use(key, value.template get<std::string>());
  }
}

}  // namespace

std::string_view to_string(ScheduleChoice choice) noexcept {
  switch (choice) {
    case ScheduleChoice::round_robin:
      return "round_robin";
    case ScheduleChoice::random:
      return "random";
    case ScheduleChoice::recheck:
      return "recheck";
  }
  return "";
}

std::string_view to_string(Verification verification) noexcept {
  return verification == Verification::replicas ? "replicas" : "none";
}

void set_parameter(RunSpecification& specification, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw InvalidArgument(fmt::format("--set is '{}'; accepted: key=value", assignment));
  }
  specification.parameters[std::string{assignment.substr(0, equals)}] =
      std::string{assignment.substr(equals + 1)};
}

std::string to_command_line(const RunSpecification& specification, std::string_view binary,
                            const RunSpecification& baseline) {
  std::string line = fmt::format("{} run {}", binary, shell_quoted(specification.program));
  for (const RunOption& option : run_options()) {
    const auto text = option.text(specification);
    if (!text || (text == option.text(baseline) && option.name != "seed")) continue;
    line += " --" + option.name;
    if (option.form == RunOption::Form::value) line += " " + shell_quoted(*text);
  }
  for (const auto& [name, text] : specification.parameters) {
    const auto same = baseline.parameters.find(name);
    if (same != baseline.parameters.end() && same->second == text) continue;
    line += " --set " + shell_quoted(name + "=" + text);
  }
  return line;
}

json to_json(const RunSpecification& specification) {
  json options = json::object();
  for (const RunOption& option : run_options()) {
    if (const auto text = option.text(specification)) options[option.name] = *text;
  }
  return {{"program", specification.program},
          {"parameters", specification.parameters},
          {"options", options}};
}

RunSpecification run_specification_from_json(const json& from) {
  RunSpecification specification;
  if (!from.is_object())
    throw InvalidArgument(
        fmt::format("field specification has the wrong type: found is {}", from.type_name()));
  const auto program = from.find("program");
  if (program == from.end() || !program->is_string()) {
    throw InvalidArgument("specification.program is missing or no text");
  }
  specification.program = program->get<std::string>();
  for_each_text(from, "parameters", [&specification](const std::string& key, std::string text) {
    specification.parameters[key] = std::move(text);
  });
  for_each_text(from, "options", [&specification](const std::string& key, const std::string& text) {
    set_option(specification, key, text);
  });
  return specification;
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view safe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!word.empty() && word.find_first_not_of(safe) == std::string_view::npos) {
    return std::string{word};
  }
  std::string quoted = "'";
  for (const char character : word) {
    if (character == '\'') {
      quoted += "'\\''";
    } else {
      quoted += character;
    }
  }
  return quoted + "'";
}

}  // namespace gang::harness
