// Findings as SARIF 2.1.0, which code-review tools show beside the lines that they are about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gang/enum_names.h"

namespace gang::harness {

// A line of a file, and what is there.
struct SarifPlace {
  std::string uri;  // of SourceTree::uri_of
  std::int64_t line = 1;
  std::string message = {};

  friend bool operator==(const SarifPlace&, const SarifPlace&) = default;
};

enum class SarifLevel : std::uint8_t { error, warning, note };

inline constexpr auto sarif_level_names = names_in_order<SarifLevel>("error", "warning", "note");

struct SarifResult {
  std::string rule;         // "cross_gang_cycle"
  std::string advice = {};  // what to change, for every result of the rule; may be empty
  SarifLevel level = SarifLevel::error;
  std::string message;
  std::optional<SarifPlace> place = {};
  std::vector<SarifPlace> related = {};  // other calls
  // What stays the same when the lines of the file move: tools tell new results from known ones by
  // it.
  std::string identity = {};
};

// One document with the results of a run of `command` ("gangsim run"). Source: SARIF Version 2.1.0,
// OASIS Standard, 27 March 2020.
std::string to_sarif_text(std::string_view command, const std::vector<SarifResult>& results);

}  // namespace gang::harness
