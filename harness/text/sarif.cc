#include "harness/text/sarif.h"

#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/hash.h"
#include "harness/text/version.h"

namespace gang::harness {
namespace {

using nlohmann::json;

constexpr const char* schema = "https://json.schemastore.org/sarif-2.1.0.json";

json sarif_location(const SarifPlace& place) {
  return {{"physicalLocation",
           {{"artifactLocation", {{"uri", place.uri}}}, {"region", {{"startLine", place.line}}}}}};
}

// Every rule once, in the order of the results.
json sarif_rules(const std::vector<SarifResult>& results,
                 std::map<std::string, std::size_t>& indices) {
  json rules = json::array();
  for (const SarifResult& result : results) {
    if (!indices.try_emplace(result.rule, rules.size()).second) continue;
    json& rule = rules.emplace_back(json{{"id", result.rule}});
    if (!result.advice.empty()) rule["help"]["text"] = result.advice;
  }
  return rules;
}

json sarif_result(const SarifResult& result, std::size_t rule_index, int occurrence) {
  const auto identity = std::as_bytes(std::span(result.identity));
  json to = {{"ruleId", result.rule},
             {"ruleIndex", rule_index},
             {"level", name_of(sarif_level_names, result.level)},
             {"message", {{"text", result.message}}},
             {"locations", json::array()},
             {"partialFingerprints",
              {{"gangsimFinding/v1", fmt::format("{:016x}:{}", fnv1a(identity), occurrence)}}}};
  if (result.place) to["locations"].push_back(sarif_location(*result.place));
  for (const SarifPlace& place : result.related) {
    json location = sarif_location(place);
    location["id"] = to["relatedLocations"].size() + 1;
    location["message"]["text"] = place.message;
    to["relatedLocations"].push_back(std::move(location));
  }
  return to;
}

}  // namespace

std::string to_sarif_text(std::string_view command, const std::vector<SarifResult>& results) {
  std::map<std::string, std::size_t> indices;
  json rules = sarif_rules(results, indices);
  json run = {{"tool",
               {{"driver",
                 {{"name", "gangsim"},
                  {"fullName", command},
                  {"version", version()},
                  {"semanticVersion", version()},
                  {"rules", std::move(rules)}}}}},
              {"columnKind", "utf16CodeUnits"},
              {"results", json::array()}};
  std::map<std::string, int> occurrences;
  for (const SarifResult& result : results)
    run["results"].push_back(
        sarif_result(result, indices.at(result.rule), ++occurrences[result.identity]));
  const json document = {{"$schema", schema}, {"version", "2.1.0"}, {"runs", {std::move(run)}}};
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace gang::harness
