#include "harness/program_file/fault_file.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include "gang/error.h"
#include "harness/text/duration_text.h"
#include "harness/text/output_file.h"

namespace gang::harness {
namespace {

using nlohmann::json;
using sim::FaultPlanError;

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
        fail_at(path_, node.source(),
                fmt::format("{} is {}; accepted: a text with a unit, \"5ms\"", key, whole->get()));
      if (whole->get() < 0) return json(whole->get());
      return json(static_cast<std::uint64_t>(whole->get()));
    }
    if (const auto* number = node.as_floating_point()) return json(number->get());
    if (const auto* boolean = node.as_boolean()) return json(boolean->get());
    fail_at(path_, node.source(), fmt::format("{} is a date or time; accepted are none", key));
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

// The table of the plan: the file itself, or [faults] of a scenario.
const toml::table& plan_table(const toml::table& root, const std::string& path) {
  const toml::node* faults = root.get("faults");
  if (faults == nullptr) return root;
  if (const toml::table* table = faults->as_table()) return *table;
  fail_at(path, faults->source(),
          "faults is no table; accepted: [faults], or the name of a preset");
}

// Where in the file the error is: its key, its fault, or the plan.
toml::source_region place_of(const toml::table& plan, const FaultPlanError& error) {
  const toml::table* table = &plan;
  if (error.fault() != FaultPlanError::no_fault)
    if (const toml::array* faults = plan["fault"].as_array())
      if (const toml::node* fault = faults->get(error.fault()))
        if (fault->as_table() != nullptr) table = fault->as_table();
  if (const toml::node* node = table->get(error.key())) return node->source();
  return table->source();
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

std::string tables(const sim::FaultPlan& plan, std::string_view head, std::string_view each) {
  const json from = sim::to_json(plan);
  std::string text{head};
  for (const std::string& line : assignments(from)) text += line + "\n";
  for (const json& fault : from["fault"]) {
    text += fmt::format("{}{}\n", text.empty() ? "" : "\n", each);
    for (const std::string& line : assignments(fault)) text += line + "\n";
  }
  return text;
}

}  // namespace

sim::FaultPlan parse_faults(std::string_view text, const std::string& path) {
  const toml::table root = parse_toml(text, path);
  const toml::table& table = plan_table(root, path);
  try {
    sim::FaultPlan plan = sim::fault_plan_from_json(Converter{path}.convert(table, ""));
    plan.name = path;
    return plan;
  } catch (const FaultPlanError& error) {
    fail_at(path, place_of(table, error), error.what());
  }
}

sim::FaultPlan load_faults(std::string_view text) {
  if (text.find('=') != std::string_view::npos) return parse_faults(text, "");
  const std::string path{text};
  if (path.ends_with(".toml")) return parse_faults(read_file("faults", path), path);
  return sim::fault_preset(text);
}

std::string to_toml(const sim::FaultPlan& plan) { return tables(plan, "", "[[fault]]"); }

std::string to_scenario_toml(const sim::FaultPlan& plan) {
  return tables(plan, "[faults]\n", "[[faults.fault]]");
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

void check_faults(const sim::FaultPlan& plan, int world_size) {
  try {
    sim::validate(plan, world_size);
  } catch (const FaultPlanError& error) {
    if (!plan.name.ends_with(".toml")) throw;
    const toml::table root = parse_toml(read_file("faults", plan.name), plan.name);
    fail_at(plan.name, place_of(plan_table(root, plan.name), error), error.what());
  }
}

}  // namespace gang::harness
