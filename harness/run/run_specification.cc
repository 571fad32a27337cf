#include "harness/run/run_specification.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "sim/text/json_fields.h"

namespace gang::harness {
namespace {

using nlohmann::json;

using Texts = std::map<std::string, std::string>;

// The texts of an object. Throws InvalidArgument naming the field.
Texts texts_of(const json& from, const char* name) {
  Texts texts;
  const auto object = sim::field<std::map<std::string, json>>(from, name);
  for (const auto& [key, value] : object) {
    if (!value.is_string())
      throw InvalidArgument(fmt::format("field specification.{}.{}: expected a string", name, key));
    texts[key] = value.get<std::string>();
  }
  return texts;
}

}  // namespace

void set_parameter(RunSpecification& specification, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw InvalidArgument(fmt::format("--set is '{}'; must be key=value", assignment));
  specification.parameters[std::string{assignment.substr(0, equals)}] =
      std::string{assignment.substr(equals + 1)};
}

std::string to_command_line(const RunSpecification& specification, std::string_view binary,
                            const RunSpecification& baseline) {
  return fmt::format("{} run {}{}", binary, shell_quoted(specification.program),
                     options_text(specification, baseline));
}

std::string to_explore_line(RunSpecification specification, std::string_view binary,
                            RunSpecification baseline) {
  specification.schedule = baseline.schedule = ScheduleChoice::round_robin;
  return fmt::format("{} explore {}{}", binary, shell_quoted(specification.program),
                     options_text(specification, baseline));
}

std::string options_text(const RunSpecification& specification, const RunSpecification& baseline) {
  std::string line;
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
  for (const RunOption& option : run_options())
    if (const auto text = option.text(specification)) options[option.name] = *text;
  return {{"program", specification.program},
          {"parameters", specification.parameters},
          {"options", options}};
}

RunSpecification run_specification_from_json(const json& from) {
  RunSpecification specification;
  specification.program = sim::field<std::string>(from, "program");
  specification.parameters = texts_of(from, "parameters");
  for (const auto& [name, text] : texts_of(from, "options")) set_option(specification, name, text);
  return specification;
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view safe =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!word.empty() && word.find_first_not_of(safe) == std::string_view::npos)
    return std::string{word};
  std::string quoted = "'";
  for (const char character : word) quoted += character == '\'' ? "'\\''" : std::string{character};
  return quoted + "'";
}

}  // namespace gang::harness
