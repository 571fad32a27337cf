#include "tools/commands/check_report.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/explanation/run_sarif.h"
#include "harness/program/digest.h"
#include "harness/text/version.h"
#include "properties/case_text.h"
#include "sim/report/report_json.h"
#include "sim/text/json_fields.h"

namespace gang::tools {
namespace {

using properties::CheckResult;
using properties::Counterexample;
using properties::Property;

std::string indented(const std::string& text) {
  std::string lines = "  ";
  for (const char c : text) {
    lines += c;
    if (c == '\n') lines += "  ";
  }
  return lines;
}

// What the property counted, on lines of its own.
std::string figures_of(const CheckResult& result) {
  return result.figures.empty() ? "" : indented(result.figures) + "\n";
}

std::string cases_of(const CheckResult& result) {
  return result.cases < result.planned_cases && result.held()
             ? fmt::format("{} of {} cases", result.cases, result.planned_cases)
             : properties::counted(result.cases, "case");
}

std::string reproduce_command(const CheckedProperty& checked, const std::string& binary) {
  const Property& property = checked.property;
  return fmt::format("{} check {}--filter {} --reproduce {}", binary,
                     property.backend == harness::BackendKind::sim
                         ? ""
                         : fmt::format("--backend {} ", to_string(property.backend)),
                     property.full_name(), checked.result.counterexample->reproduce);
}

// The report of the run that shows the failure.
std::string run_text(const sim::Report& run) {
  std::string text = to_string(run);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string sentence(std::string text) {
  if (!text.ends_with('.')) text += '.';
  return text;
}

// The shrunk case, what is wrong with it, and where it came from.
std::string failure_text(const CheckedProperty& checked, const std::string& binary) {
  const Counterexample& found = *checked.result.counterexample;
  std::string text = indented(found.text) + "\n\n" + indented(found.message) + "\n\n";
  if (found.run && !found.run->holds()) text += indented(run_text(*found.run)) + "\n\n";
  if (found.shrink_steps != 0 && !found.found_in.empty())
    text += fmt::format("  Shrunk from {} in {}.\n", found.found_in,
                        properties::counted(found.shrink_steps, "step"));
  return text + fmt::format("  Reproduce  {}\n", reproduce_command(checked, binary));
}

const char* outcome_of(const CheckResult& result) {
  if (result.held()) return "held";
  return result.counterexample ? "falsified" : "gave_up";
}

nlohmann::json to_json(const CheckedProperty& checked, const std::string& binary) {
  const CheckResult& result = checked.result;
  nlohmann::json json = {{"index", checked.index},
                         {"suite", checked.property.suite},
                         {"name", checked.property.full_name()},
                         {"law", checked.property.name},
                         {"backend", to_string(checked.property.backend)},
                         {"description", checked.property.description},
                         {"outcome", outcome_of(result)},
                         {"cases", result.cases},
                         {"planned_cases", result.planned_cases},
                         {"discards", result.discards},
                         {"time_ns", result.time.count()}};
  if (!result.gave_up.empty()) json["message"] = result.gave_up;
  if (!result.figures.empty()) json["figures"] = result.figures;
  if (result.counterexample) {
    const Counterexample& found = *result.counterexample;
    json["counterexample"] = {{"case", found.text},
                              {"message", found.message},
                              {"found_in", found.found_in},
                              {"case_number", found.case_number},
                              {"shrink_steps", found.shrink_steps},
                              {"reproduce", reproduce_command(checked, binary)},
                              {"token", found.reproduce}};
    if (found.run) json["counterexample"]["run"] = sim::to_json(*found.run);
  }
  return json;
}

harness::JunitCase to_junit_case(const CheckedProperty& checked, const std::string& binary) {
  harness::JunitCase one{.class_name = checked.property.suite,
                         .name = checked.property.name,
                         .time = checked.result.time};
  if (checked.result.counterexample)
    one.failure = {checked.result.counterexample->message, failure_text(checked, binary)};
  else if (!checked.result.held())
    one.failure = {checked.result.gave_up, checked.result.gave_up};
  return one;
}

Counterexample counterexample_from_json(const nlohmann::json& json) {
  Counterexample found{.text = sim::field<std::string>(json, "case"),
                       .message = sim::field<std::string>(json, "message"),
                       .found_in = sim::field<std::string>(json, "found_in"),
                       .case_number = sim::field<std::uint64_t>(json, "case_number"),
                       .shrink_steps = sim::field<std::uint64_t>(json, "shrink_steps"),
                       .reproduce = sim::field<std::string>(json, "token")};
  if (json.contains("run"))
    found.run =
        std::make_shared<const sim::Report>(sim::report_from_json(sim::object_field(json, "run")));
  return found;
}

CheckedProperty checked_property_from_json(const nlohmann::json& json) {
  CheckedProperty checked;
  checked.index = sim::field<std::size_t>(json, "index");
  checked.property.suite = sim::field<std::string>(json, "suite");
  checked.property.name = sim::field<std::string>(json, "law");
  checked.property.description = sim::field<std::string>(json, "description");
  checked.property.backend = harness::parse_backend(sim::field<std::string>(json, "backend"));
  CheckResult& result = checked.result;
  result.cases = sim::field<std::uint64_t>(json, "cases");
  result.planned_cases = sim::field<std::uint64_t>(json, "planned_cases");
  result.discards = sim::field<std::uint64_t>(json, "discards");
  result.time = Duration(sim::field<std::int64_t>(json, "time_ns"));
  if (json.contains("message")) result.gave_up = sim::field<std::string>(json, "message");
  if (json.contains("figures")) result.figures = sim::field<std::string>(json, "figures");
  if (json.contains("counterexample"))
    result.counterexample = counterexample_from_json(sim::object_field(json, "counterexample"));
  return checked;
}

// One failure as a run: what is wrong with the shrunk case first.
harness::RunResult explained(const CheckedProperty& failed, std::uint64_t seed,
                             const std::string& binary) {
  const Counterexample& found = *failed.result.counterexample;
  harness::RunResult result;
  if (found.run) result.report = *found.run;
  sim::Finding wrong{.id = failed.property.full_name(), .message = sentence(found.message)};
  wrong.message += " The shrunk case is\n" + found.text;
  if (!found.found_in.empty()) wrong.message += "\nshrunk from " + found.found_in;
  result.report.findings.insert(result.report.findings.begin(), std::move(wrong));
  result.specification.program = failed.property.full_name();
  result.specification.options.seed = seed;
  result.world_size = 0;
  result.reproduce = reproduce_command(failed, binary);
  return result;
}

}  // namespace

bool CheckReport::held() const noexcept {
  return std::ranges::all_of(properties,
                             [](const CheckedProperty& one) { return one.result.held(); });
}

std::string line_of(const CheckedProperty& checked, const std::string& binary) {
  const CheckResult& result = checked.result;
  const std::string name = checked.property.full_name();
  if (result.held())
    return fmt::format("✓ {:<62} {:>13} {:>8.2f} s\n{}", name, cases_of(result),
                       to_seconds(result.time), figures_of(result));
  if (!result.counterexample)
    return fmt::format("✗ {:<62} gave up after {}\n{}\n{}\n\n", name, cases_of(result),
                       figures_of(result), indented(result.gave_up));
  return fmt::format("✗ {:<62} case {} of {}\n\n{}\n", name, result.counterexample->case_number,
                     result.planned_cases, failure_text(checked, binary));
}

std::string summary_of(const CheckReport& report) {
  std::uint64_t cases = 0;
  std::size_t failed = 0;
  for (const CheckedProperty& checked : report.properties) {
    cases += checked.result.cases;
    if (!checked.result.held()) ++failed;
  }
  const std::size_t count = report.properties.size();
  const std::string verdict =
      failed == 0 ? (count == 1 ? "holds" : "hold") : fmt::format("checked, {} failed", failed);
  return fmt::format("{} propert{} {}: {} cases in {:.1f} s, seed {}\n", count,
                     count == 1 ? "y" : "ies", verdict, cases, to_seconds(report.time),
                     report.settings.seed);
}

std::optional<harness::RunResult> explained_failure(const CheckReport& report,
                                                    const std::string& binary) {
  const auto failed = std::ranges::find_if(report.properties, [](const CheckedProperty& one) {
    return one.result.counterexample.has_value();
  });
  if (failed == report.properties.end()) return std::nullopt;
  return explained(*failed, report.settings.seed, binary);
}

std::string to_json_text(const CheckReport& report, const std::string& binary) {
  nlohmann::json json = {{"format", check_format},
                         {"version", check_version},
                         {"gangsim", harness::version()},
                         {"shard", to_json(report.shard)},
                         {"selected", report.selected},
                         {"selection", harness::to_hex(report.selection)},
                         {"outcome", report.held() ? "held" : "falsified"},
                         {"seed", report.settings.seed},
                         {"cases", report.settings.cases},
                         {"max_world", report.settings.max_world},
                         {"wall_time_ns", report.time.count()},
                         {"properties", nlohmann::json::array()}};
  for (const CheckedProperty& checked : report.properties)
    json["properties"].push_back(to_json(checked, binary));
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

CheckReport check_report_from_json(const nlohmann::json& json) {
  CheckReport report;
  report.settings.seed = sim::field<std::uint64_t>(json, "seed");
  report.settings.cases = sim::field<std::uint64_t>(json, "cases");
  report.settings.max_world = sim::field<int>(json, "max_world");
  report.time = Duration(sim::field<std::int64_t>(json, "wall_time_ns"));
  report.shard = harness::shard_from_json(sim::object_field(json, "shard"));
  report.selected = sim::field<std::size_t>(json, "selected");
  report.selection = sim::digest_field(json, "selection");
  sim::read_elements(json, "properties", [&report](const nlohmann::json& one) {
    report.properties.push_back(checked_property_from_json(one));
  });
  return report;
}

std::vector<harness::JunitSuite> to_junit(const CheckReport& report, const std::string& binary) {
  std::vector<harness::JunitSuite> suites;
  for (const CheckedProperty& checked : report.properties) {
    if (suites.empty() || suites.back().name != checked.property.suite)
      suites.push_back({checked.property.suite});
    suites.back().cases.push_back(to_junit_case(checked, binary));
  }
  return suites;
}

std::vector<harness::SarifResult> to_sarif(const CheckReport& report, const std::string& binary) {
  std::vector<harness::SarifResult> results;
  harness::SourceTree tree(std::filesystem::current_path());
  for (const CheckedProperty& checked : report.properties) {
    if (checked.result.held()) continue;
    if (!checked.result.counterexample) {
      results.push_back({.rule = checked.property.full_name(),
                         .message = checked.result.gave_up,
                         .identity = checked.property.full_name()});
      continue;
    }
    const harness::RunResult run = explained(checked, report.settings.seed, binary);
    results.push_back(harness::to_sarif(run, tree).front());
  }
  return results;
}

}  // namespace gang::tools
