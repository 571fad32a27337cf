#include "harness/run/fault_file.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include "gang/error.h"
#include "harness/run/fault_table.h"
#include "harness/text/output_file.h"
#include "sim/faults/fault_plan_json.h"

namespace gang::harness {
namespace {

using nlohmann::json;

constexpr std::array duration_keys = {"time", "for", "delay", "notice"};

bool is_duration(std::string_view key) {
  return std::ranges::find(duration_keys, key) != duration_keys.end();
}

[[noreturn]] void fail_at(const std::string& path, const toml::source_region& source,
                          std::string_view message) {
  throw InvalidArgument(path.empty() ? fmt::format("faults: {}", message)
                                     : fmt::format("{}:{}: {}", path, source.begin.line, message));
}

// TOML as JSON, durations as nanoseconds.
class Converter {
 public:
  explicit Converter(const std::string& path) : path_(path) {}

  json convert(const toml::node& node, std::string_view key) const {
    if (const toml::table* table = node.as_table()) {
      json object = json::object();
      for (const auto& [name, value] : *table)
        object[std::string{name.str()}] = convert(value, name.str());
      return object;
    }
    if (const toml::array* array = node.as_array()) {
      json list = json::array();
      for (const toml::node& value : *array) list.push_back(convert(value, key));
      return list;
    }
    if (const auto* text = node.as_string()) return convert_text(node, key, text->get());
    if (const auto* whole = node.as_integer()) {
      if (is_duration(key))
        fail_at(
            path_, node.source(),
            fmt::format("{} is {}; must be a string with a unit, as \"5ms\"", key, whole->get()));
      if (whole->get() < 0) return json(whole->get());
      return json(static_cast<std::uint64_t>(whole->get()));
    }
    if (const auto* number = node.as_floating_point()) return json(number->get());
    if (const auto* boolean = node.as_boolean()) return json(boolean->get());
    fail_at(path_, node.source(), fmt::format("{} is a date or time, which no key takes", key));
  }

 private:
  json convert_text(const toml::node& node, std::string_view key, const std::string& text) const {
    if (!is_duration(key)) return json(text);
    try {
      return json(parse_duration(text).count());
    } catch (const InvalidArgument& error) {
      fail_at(path_, node.source(), fmt::format("{}: {}", key, error.what()));
    }
  }

  const std::string& path_;
};

toml::table parse_toml(std::string_view text, const std::string& path) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    fail_at(path, error.source(), error.description());
  }
}

sim::SourceLines lines_of(const toml::node& node) {
  sim::SourceLines lines{{{"", static_cast<int>(node.source().begin.line)}}};
  if (const toml::table* table = node.as_table())
    for (const auto& [key, value] : *table)
      lines.by_key[std::string{key.str()}] = static_cast<int>(value.source().begin.line);
  return lines;
}

std::string value_text(const std::string& key, const json& value) {
  if (value.is_array()) {
    std::string text;
    for (const json& entry : value) text += (text.empty() ? "" : ", ") + value_text(key, entry);
    return "[" + text + "]";
  }
  if (is_duration(key))
    return fmt::format("\"{}\"", to_duration_text(Duration(value.get<std::int64_t>())));
  return value.dump();
}

std::vector<std::string> assignments(const json& table) {
  std::vector<std::string> lines;
  if (table.contains("kind")) lines.push_back("kind = " + table["kind"].dump());
  for (const auto& [key, value] : table.items())
    if (key != "fault" && key != "name" && key != "kind")
      lines.push_back(key + " = " + value_text(key, value));
  return lines;
}

}  // namespace

sim::FaultPlan faults_of(const toml::table& table, const std::string& path) {
  sim::FaultPlan written{.name = path, .lines = lines_of(table)};
  if (const toml::array* faults = table["fault"].as_array())
    for (const toml::node& fault : *faults) written.faults.push_back({.lines = lines_of(fault)});
  return sim::fault_plan_from_json(Converter{path}.convert(table, ""), std::move(written));
}

sim::FaultPlan parse_faults(std::string_view text, const std::string& path) {
  const toml::table root = parse_toml(text, path);
  const toml::node* faults = root.get("faults");
  if (faults == nullptr) return faults_of(root, path);
  if (const toml::table* table = faults->as_table()) return faults_of(*table, path);
  fail_at(path, faults->source(), "faults: expected a table [faults], or the name of a preset");
}

sim::FaultPlan load_faults(std::string_view text) {
  if (text.find('=') != std::string_view::npos) return parse_faults(text, "");
  const std::string path{text};
  if (path.ends_with(".toml")) return parse_faults(read_file("faults", path), path);
  return sim::fault_preset(text);
}

std::string to_scenario_toml(const sim::FaultPlan& plan) {
  const json from = sim::to_json(plan);
  std::string text = "[faults]\n";
  for (const std::string& line : assignments(from)) text += line + "\n";
  for (const json& fault : from["fault"]) {
    text += "\n[[faults.fault]]\n";
    for (const std::string& line : assignments(fault)) text += line + "\n";
  }
  return text;
}

std::string to_toml_line(const sim::FaultPlan& plan) {
  const json from = sim::to_json(plan);
  std::string text;
  for (const std::string& line : assignments(from)) text += line + "\n";
  std::vector<std::string> faults;
  for (const json& fault : from["fault"])
    faults.push_back(fmt::format("{{{}}}", fmt::join(assignments(fault), ", ")));
  return text + fmt::format("fault = [{}]", fmt::join(faults, ", "));
}

}  // namespace gang::harness
