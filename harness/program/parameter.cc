#include "harness/program/parameter.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/text/number_text.h"
#include "harness/text/suggestion.h"

namespace gang::harness {
namespace {

template <typename Enum, std::size_t count>
std::vector<std::string> names_of(const std::array<Enum, count>& values) {
  std::vector<std::string> names;
  for (const Enum value : values) names.emplace_back(to_string(value));
  return names;
}

std::optional<ParameterValue> parse_as(const IntegerRange& range, std::string_view text) {
  const auto value = parse_number<std::int64_t>(text);
  if (!value || *value < range.minimum || *value > range.maximum) return std::nullopt;
  return *value;
}

std::optional<ParameterValue> parse_as(const NumberRange& range, std::string_view text) {
  const auto value = parse_number<double>(text);
  if (!value || !(*value >= range.minimum && *value <= range.maximum)) return std::nullopt;
  return *value;
}

std::optional<ParameterValue> parse_as(const std::vector<std::string>& choices,
                                       std::string_view text) {
  if (!choices.empty() && std::ranges::find(choices, text) == choices.end()) return std::nullopt;
  return std::string{text};
}

}  // namespace

Parameter integer_parameter(std::string name, std::int64_t default_value, IntegerRange accepted,
                            std::string description) {
  return {std::move(name), default_value, accepted, std::move(description)};
}

Parameter number_parameter(std::string name, double default_value, NumberRange accepted,
                           std::string description) {
  return {std::move(name), default_value, accepted, std::move(description)};
}

Parameter choice_parameter(std::string name, std::string default_value,
                           std::vector<std::string> choices, std::string description) {
  return {std::move(name), std::move(default_value), std::move(choices), std::move(description)};
}

Parameter text_parameter(std::string name, std::string default_value, std::string description) {
  return {std::move(name), std::move(default_value), std::vector<std::string>{},
          std::move(description)};
}

Parameter data_type_parameter(std::string name, DataType default_value, std::string description) {
  return choice_parameter(std::move(name), std::string{to_string(default_value)},
                          names_of(all_data_types), std::move(description));
}

Parameter reduce_operation_parameter(std::string name, ReduceOperation default_value,
                                     std::string description) {
  return choice_parameter(std::move(name), std::string{to_string(default_value)},
                          names_of(all_reduce_operations), std::move(description));
}

std::string describe_accepted(const Parameter& parameter) {
  if (const auto* range = std::get_if<IntegerRange>(&parameter.accepted))
    return fmt::format("{} to {}", range->minimum, range->maximum);
  if (const auto* range = std::get_if<NumberRange>(&parameter.accepted))
    return fmt::format("a number from {} to {}", range->minimum, range->maximum);
  const auto& choices = std::get<std::vector<std::string>>(parameter.accepted);
  return choices.empty() ? "any text" : fmt::format("one of {}", fmt::join(choices, ", "));
}

std::string to_string(const ParameterValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return fmt::format("{}", std::get<std::int64_t>(value));
}

ParameterValue parse_parameter_value(const Parameter& parameter, std::string_view text) {
  auto value = std::visit([text](const auto& accepted) { return parse_as(accepted, text); },
                          parameter.accepted);
  if (!value)
    throw InvalidArgument(
        fmt::format("{} is '{}'; must be {}", parameter.name, text, describe_accepted(parameter)));
  return *std::move(value);
}

ParameterValues::ParameterValues(const std::vector<Parameter>& parameters,
                                 const std::map<std::string, std::string>& given) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) {
    names.push_back(parameter.name);
    values_[parameter.name] = parameter.default_value;
  }
  for (const auto& [name, text] : given) {
    const auto found = std::ranges::find(parameters, name, &Parameter::name);
    if (found == parameters.end()) throw InvalidArgument("parameter " + unknown_name(name, names));
    values_[name] = parse_parameter_value(*found, text);
  }
}

const ParameterValue& ParameterValues::at(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end())
    throw InvalidArgument(fmt::format("the program does not declare a parameter '{}'", name));
  return found->second;
}

std::int64_t ParameterValues::integer(std::string_view name) const {
  if (const auto* value = std::get_if<std::int64_t>(&at(name))) return *value;
  throw InvalidArgument(fmt::format("parameter '{}' is not a whole number", name));
}

double ParameterValues::number(std::string_view name) const {
  if (const auto* value = std::get_if<double>(&at(name))) return *value;
  return static_cast<double>(integer(name));
}

const std::string& ParameterValues::text(std::string_view name) const {
  if (const auto* value = std::get_if<std::string>(&at(name))) return *value;
  throw InvalidArgument(fmt::format("parameter '{}' is not a text", name));
}

DataType ParameterValues::data_type(std::string_view name) const {
  if (const auto type = parse_data_type(text(name))) return *type;
  throw InvalidArgument(fmt::format("parameter '{}' is not a data type", name));
}

ReduceOperation ParameterValues::reduce_operation(std::string_view name) const {
  if (const auto operation = parse_reduce_operation(text(name))) return *operation;
  throw InvalidArgument(fmt::format("parameter '{}' is not a reduce operation", name));
}

}  // namespace gang::harness
