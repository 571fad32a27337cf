// Typed parameters of a program, which people set with key=value.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gang/data_type.h"
#include "gang/reduce_operation.h"

namespace gang::harness {

using ParameterValue = std::variant<std::int64_t, double, std::string>;

struct IntegerRange {
  std::int64_t minimum = 0;
  std::int64_t maximum = 0;
};

struct NumberRange {
  double minimum = 0;
  double maximum = 0;
};

// One parameter: its name, type, default, accepted values, and a line for people. A value.
struct Parameter {
  // Accepted values: whole numbers, numbers, one of several texts (not empty), or any text.
  using Accepted = std::variant<IntegerRange, NumberRange, std::vector<std::string>>;

  std::string name;
  ParameterValue default_value;
  Accepted accepted;
  std::string description;
};

// The four kinds of parameters.
Parameter integer_parameter(std::string name, std::int64_t default_value, IntegerRange accepted,
                            std::string description);
Parameter number_parameter(std::string name, double default_value, NumberRange accepted,
                           std::string description);
Parameter choice_parameter(std::string name, std::string default_value,
                           std::vector<std::string> choices, std::string description);
Parameter text_parameter(std::string name, std::string default_value, std::string description);

// Choices "bool", "u8", ..., "f64" and "sum", ..., "bxor".
Parameter data_type_parameter(std::string name, DataType default_value, std::string description);
Parameter reduce_operation_parameter(std::string name, ReduceOperation default_value,
                                     std::string description);

// "1 to 100", "one of sum, mean", "any text". Saved fingerprints depend on it: it never changes.
std::string describe_accepted(const Parameter& parameter);
std::string to_string(const ParameterValue& value);

// The value that `text` stands for. Throws InvalidArgument: the parameter, the text, what it must
// be.
ParameterValue parse_parameter_value(const Parameter& parameter, std::string_view text);

// A value for each parameter of a program, by name. Looking up an unknown name or another type
// throws InvalidArgument. Threads: any may read.
class ParameterValues {
 public:
  ParameterValues() = default;

  // The defaults, replaced by those of `given` ("key" to text). Throws InvalidArgument for an
  // unknown key (lists the known ones) or a value that is not accepted.
  ParameterValues(const std::vector<Parameter>& parameters,
                  const std::map<std::string, std::string>& given);

  // T: an integer type, a floating-point type, std::string, DataType or ReduceOperation.
  template <typename T>
  T get(std::string_view name) const;

 private:
  const ParameterValue& at(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  DataType data_type(std::string_view name) const;
  ReduceOperation reduce_operation(std::string_view name) const;

  std::map<std::string, ParameterValue, std::less<>> values_;
};

template <typename T>
T ParameterValues::get(std::string_view name) const {
  if constexpr (std::is_same_v<T, DataType>) {
    return data_type(name);
  } else if constexpr (std::is_same_v<T, ReduceOperation>) {
    return reduce_operation(name);
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(integer(name));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number(name));
  } else {
    return T{text(name)};
  }
}

}  // namespace gang::harness
