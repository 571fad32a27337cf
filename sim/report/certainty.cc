#include "sim/report/certainty.h"

#include <algorithm>

#include <fmt/format.h>

#include "gang/enum_names.h"
#include "gang/error.h"
#include "sim/options/simulation_options.h"
#include "sim/report/rank_text.h"
#include "sim/report/report.h"
#include "sim/report/report_json.h"
#include "sim/text/json_fields.h"

namespace gang::sim {
namespace {

constexpr auto schedules_names = names_in_order<Schedules>("every", "at_least_this");

// In the order of the enumerators.
constexpr auto unguided_texts = names_in_order<Unguided>(
    "aborts, lost connections, shrinking or faults on another backend than sim",
    "when messages leave the buffer of a link", "which of a rank's threads calls on a gang first",
    "more polls in a row than are explored",
    "yields of a rank with threads, which may share memory", "polls that look at the clock",
    "time that passes after a test in vain", "what is ahead of an operation on its stream",
    "when a fault strikes or who learns of it", "what processes outside the simulation do");

constexpr auto dependence_names =
    names_in_order<Dependence>("none", "open", "needed", "not_needed");

// "1,204".
std::string with_separators(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t place = text.size(); place > 3; place -= 3) text.insert(place - 3, ",");
  return text;
}

nlohmann::json evidence_to_json(const RecordedEvidence& evidence) {
  nlohmann::json overflown = nlohmann::json::array();
  for (const RecordedEvidence::Buffer& buffer : evidence.overflown)
    overflown.push_back({{"rank", buffer.rank}, {"first", buffer.first}});
  return {{"missing", evidence.missing}, {"overflown", overflown}, {"notes", evidence.notes}};
}

RecordedEvidence evidence_from_json(const nlohmann::json& from) {
  RecordedEvidence evidence{.missing = field<std::vector<int>>(from, "missing"),
                            .notes = field<std::vector<std::string>>(from, "notes")};
  for (const nlohmann::json& buffer : array_field(from, "overflown"))
    evidence.overflown.push_back(
        {field<int>(buffer, "rank"), field<std::uint64_t>(buffer, "first")});
  return evidence;
}

// "rank 1 stalled before barrier #2", "... and 2 more faults".
std::string causes_text(const std::vector<FiredFault>& faults) {
  constexpr std::size_t most_named = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most_named, faults.size()); ++i)
    text += (i == 0 ? "" : "; ") + faults[i].description;
  if (faults.size() > most_named)
    text += fmt::format("; and {} more faults", faults.size() - most_named);
  return text;
}

std::string faults_text(const Certainty& certainty, const std::vector<FiredFault>& faults) {
  const std::string without = faults.size() == 1 ? "without that fault" : "without the faults";
  switch (certainty.faults) {
    case Dependence::open:
      return "seen with the injected faults; no run without them was made";
    case Dependence::needed:
      return faults.empty() ? "only because of the injected faults: without them the run completes"
                            : fmt::format("only because {}: {} the run completes",
                                          causes_text(faults), without);
    default:
      break;
  }
  return certainty.otherwise.empty()
             ? "also without the injected faults: they are not the cause"
             : fmt::format("seen with the injected faults; without them the run ends with {}",
                           certainty.otherwise);
}

// " under stream order", ", but only under stream order".
std::string condition_text(Dependence dependence, std::string_view condition) {
  if (dependence == Dependence::none) return "";
  return fmt::format("{} {}", dependence == Dependence::needed ? ", but only" : "", condition);
}

// The result of the run `without` the condition; empty if no run has decided it.
std::string decision_text(Dependence dependence, std::string_view without,
                          const Certainty& certainty) {
  if (dependence == Dependence::needed)
    return certainty.decided_in == Schedules::every
               ? fmt::format("{} the run completes", without)
               : fmt::format("{} the run completed, in the schedules that were tried", without);
  if (dependence != Dependence::not_needed) return "";
  return certainty.otherwise.empty()
             ? fmt::format("it happens {} too", without)
             : fmt::format("{} the run ends with {}", without, certainty.otherwise);
}

std::string sends_text(std::optional<std::uint64_t> buffered_bytes) {
  if (!buffered_bytes) return "with rendezvous sends";
  if (*buffered_bytes == unlimited_bytes) return "with unlimited buffers";
  return fmt::format("with {} bytes of buffer", *buffered_bytes);
}

// A number, or "unlimited".
nlohmann::json bytes_to_json(std::uint64_t bytes) {
  if (bytes == unlimited_bytes) return to_string(SendMode::unlimited());
  return bytes;
}

std::optional<std::uint64_t> bytes_from_json(const nlohmann::json& from) {
  constexpr const char* name = "buffered_bytes";
  if (!from.contains(name) || !from[name].is_string())
    return optional_field<std::uint64_t>(from, name);
  const auto text = field<std::string>(from, name);
  if (text == to_string(SendMode::unlimited())) return unlimited_bytes;
  throw InvalidArgument(
      fmt::format("field {} is \"{}\"; must be a number or \"unlimited\"", name, text));
}

std::string reason_text(const Certainty& certainty) {
  std::string text = decision_text(certainty.sends, "with buffered sends", certainty);
  if (text.empty()) text = decision_text(certainty.streams, "without streams", certainty);
  if (!text.empty()) return text;
  if (certainty.schedules != Schedules::every)
    return certainty.is_avoided ? "another avoids it" : "another may avoid it";
  return certainty.is_uncontested ? "the run made no contested choice"
                                  : "the run made no scheduling choice";
}

}  // namespace

std::string_view to_string(Unguided unguided) noexcept { return name_of(unguided_texts, unguided); }

std::string to_string(const RecordedEvidence& evidence) {
  constexpr std::size_t most_named = 4;
  std::string text = "as recorded";
  if (!evidence.missing.empty())
    text += fmt::format("; {}'s dump{} missing", ranks_text(evidence.missing),
                        evidence.missing.size() == 1 ? " is" : "s are");
  for (std::size_t i = 0; i < std::min(most_named, evidence.overflown.size()); ++i)
    text += fmt::format("; rank {}'s buffer begins at #{}", evidence.overflown[i].rank,
                        with_separators(evidence.overflown[i].first));
  if (evidence.overflown.size() > most_named)
    text += fmt::format("; {} more buffers begin late", evidence.overflown.size() - most_named);
  for (const std::string& note : evidence.notes) text += "; " + note;
  return text;
}

std::string to_string(const Certainty& certainty, const std::vector<FiredFault>& faults) {
  if (certainty.recorded) return to_string(*certainty.recorded);
  if (certainty.faults != Dependence::none) return faults_text(certainty, faults);
  std::string text =
      certainty.schedules == Schedules::every ? "every schedule" : "seen in this schedule";
  if (certainty.resident_kernels)
    text += fmt::format(" on devices that run {} communicator kernel{} at a time",
                        *certainty.resident_kernels, *certainty.resident_kernels == 1 ? "" : "s");
  text += condition_text(certainty.streams, "under stream order");
  text += condition_text(certainty.sends, sends_text(certainty.buffered_bytes));
  return text + ": " + reason_text(certainty);
}

std::string to_string(const Certainty& certainty) { return to_string(certainty, {}); }

nlohmann::json to_json(const Certainty& certainty, const std::vector<FiredFault>& faults) {
  nlohmann::json to = {{"schedules", name_of(schedules_names, certainty.schedules)},
                       {"sends", name_of(dependence_names, certainty.sends)},
                       {"streams", name_of(dependence_names, certainty.streams)},
                       {"faults", name_of(dependence_names, certainty.faults)},
                       {"text", to_string(certainty, faults)}};
  if (certainty.is_uncontested) to["is_uncontested"] = true;
  if (certainty.is_avoided) to["is_avoided"] = true;
  if (certainty.buffered_bytes) to["buffered_bytes"] = bytes_to_json(*certainty.buffered_bytes);
  if (certainty.resident_kernels) to["resident_kernels"] = *certainty.resident_kernels;
  if (!certainty.otherwise.empty()) to["otherwise"] = certainty.otherwise;
  if (certainty.decided_in != Schedules::every)
    to["decided_in"] = name_of(schedules_names, certainty.decided_in);
  if (certainty.recorded) to["recorded"] = evidence_to_json(*certainty.recorded);
  return to;
}

Certainty certainty_from_json(const nlohmann::json& from) {
  Certainty certainty{.schedules = enum_field(from, "schedules", schedules_names),
                      .sends = enum_field(from, "sends", dependence_names),
                      .streams = enum_field(from, "streams", dependence_names),
                      .faults = enum_field(from, "faults", dependence_names)};
  certainty.is_uncontested = optional_field<bool>(from, "is_uncontested").value_or(false);
  certainty.is_avoided = optional_field<bool>(from, "is_avoided").value_or(false);
  certainty.buffered_bytes = bytes_from_json(from);
  certainty.resident_kernels = optional_field<int>(from, "resident_kernels");
  certainty.otherwise = optional_field<std::string>(from, "otherwise").value_or("");
  if (from.contains("decided_in"))
    certainty.decided_in = enum_field(from, "decided_in", schedules_names);
  if (from.contains("recorded")) certainty.recorded = evidence_from_json(from["recorded"]);
  return certainty;
}

}  // namespace gang::sim
