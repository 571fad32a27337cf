// Printed values parse to equal values.
#pragma once

#include <vector>

#include "properties/property.h"
#include "properties/text_form.h"
#include "sim/report/report.h"

namespace gang::properties {

// The text and JSON forms of schedules, meshes, traces, findings, blocked calls, send modes,
// durations, objects, rank ranges, reproduce tokens and every enumeration.
std::vector<Property> texts_round_trip();

// Those of the above that command-line options take: schedules, meshes, send modes, durations and
// reproduce tokens.
std::vector<Property> option_texts_round_trip();

// A name in an enumeration: it must parse to its value, and nothing else may.
struct NamedValue {
  std::string enumeration;  // "data type"
  std::string name;         // "bf16"
  std::function<bool(const std::string&)> parses_to_it;
  std::function<bool(const std::string&)> is_rejected;
};
std::vector<NamedValue> all_named_values();
std::string to_text(const NamedValue& value);
std::vector<NamedValue> shrinks(const NamedValue& value);
Property names_round_trip(const std::vector<NamedValue>& values = all_named_values());

// "0-3,8,10-14:2" as a list.
std::vector<int> parse_rank_ranges(const std::string& text);

}  // namespace gang::properties
