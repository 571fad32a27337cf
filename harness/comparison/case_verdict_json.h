// Verdicts of conformance cases, as the processes of a run tell each other.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gang/json_number.h"
#include "harness/comparison/conformance.h"

namespace gang::harness {

inline nlohmann::json to_json(const CaseVerdict& verdict) {
  return {{"program", verdict.program},
          {"agrees", verdict.agrees},
          {"text", verdict.text},
          {"elapsed_ns", verdict.elapsed.count()}};
}

inline CaseVerdict verdict_from_json(const nlohmann::json& value) {
  return {value.at("program"), value.at("agrees"), value.at("text"),
          Duration(number_from<std::int64_t>(value.at("elapsed_ns")))};
}

inline nlohmann::json to_json(const std::vector<CaseVerdict>& verdicts) {
  nlohmann::json list = nlohmann::json::array();
  for (const CaseVerdict& verdict : verdicts) list.push_back(to_json(verdict));
  return list;
}

inline std::vector<CaseVerdict> verdicts_from_text(const std::string& text) {
  std::vector<CaseVerdict> verdicts;
  for (const nlohmann::json& value : nlohmann::json::parse(text))
    verdicts.push_back(verdict_from_json(value));
  return verdicts;
}

}  // namespace gang::harness
