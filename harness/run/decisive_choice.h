// What makes a failure one, for those who read it and for files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "sim/further_runs/every_schedule.h"

namespace gang::harness {

// What makes the failure that exhaustive runs have found one. A value: parses and prints.
struct DecisiveChoice {
  std::string text;                     // "'loader' of rank 1 locked a mutex before rank 1 did"
  std::optional<bool> holds_otherwise;  // whether the run holds that decides it the other way
  std::optional<sim::Continuations> continuations;  // both ways, from where they part

  friend bool operator==(const DecisiveChoice&, const DecisiveChoice&) = default;
};

// Of exhaustive runs that have found a failure; none: nothing else could have come of them.
std::optional<DecisiveChoice> decisive_choice_of(const sim::EverySchedule& every);

// "Decided the other way, the run holds."; empty where that is not known.
std::string_view otherwise_text(const DecisiveChoice& decisive) noexcept;

// In lines of 80 columns: the choice, whether the run holds otherwise, and both ways side by side.
// Empty for none.
std::string to_text(const std::optional<DecisiveChoice>& decisive);

// An object with the members text, holds_otherwise, found and otherwise, of which the last three
// are null where they are not known. Reading throws InvalidArgument for anything else.
nlohmann::json to_json(const DecisiveChoice& decisive);
DecisiveChoice decisive_choice_from_json(const nlohmann::json& from);

}  // namespace gang::harness
