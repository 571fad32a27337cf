#include "tools/commands/check.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "gang/error.h"
#include "harness/backends/backend.h"
#include "harness/explanation/html_page.h"
#include "harness/text/output_file.h"
#include "properties/property_runner.h"
#include "properties/selection.h"
#include "tools/commands/check_report.h"

namespace gang::tools {
namespace {

using harness::CommandContext;
using harness::OutputFile;
using properties::CheckResult;
using properties::Progress;
using properties::Property;

constexpr double longest_budget_seconds = 1e9;
constexpr int largest_world = 1024;
constexpr int most_jobs = 256;
constexpr std::size_t terminal_columns = 80;

class CheckCommand final : public harness::Command {
 public:
  explicit CheckCommand(std::vector<Property> properties) : properties_(std::move(properties)) {}

  std::string name() const override { return "check"; }
  std::string description() const override { return "check the properties that must always hold"; }
  std::vector<std::string> examples() const override {
    return {"check --seed 1", "check --filter 'meshes_partition.*' --cases 5000",
            "check --time-budget 10 --junit check.xml --report check.html",
            "check --backend sim-gloo --seed 1", "check --backend sim-nccl --seed 1"};
  }

  void add_options(CLI::App& app) override;
  int run(CommandContext& context) override;

 private:
  void list(const std::vector<Property>& selected, CommandContext& context) const;
  CheckReport check(const std::vector<Property>& selected, CommandContext& context) const;
  void tell(const CheckedProperty& checked, CommandContext& context) const;

  std::vector<Property> properties_;
  std::vector<std::string> filters_;
  std::string backend_ = "sim";
  std::uint64_t cases_ = properties::Settings{}.cases;
  std::uint64_t seed_ = 1;
  int max_world_ = properties::Settings{}.max_world;
  std::optional<double> budget_seconds_;
  int jobs_ = 2;
  std::string junit_path_;
  std::string json_path_;
  std::string report_path_;
  std::optional<std::string> reproduce_;
  bool is_quiet_ = false;
  bool is_list_ = false;
};

void CheckCommand::add_options(CLI::App& app) {
  app.add_option("--filter", filters_, "names or suites, * and ? allowed; several with commas")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  app.add_option("--backend", backend_,
                 "what the gangs are: sim; sim-gloo, Gloo's algorithms;\nsim-nccl, streams of a "
                 "simulated NCCL")
      ->check(CLI::IsMember({"sim", "sim-gloo", "sim-nccl"}))
      ->capture_default_str();
  app.add_option("--cases", cases_, "cases of a cheap property")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
      ->capture_default_str();
  app.add_option("--seed", seed_, "of everything random")->capture_default_str();
  app.add_option("--max-world", max_world_, "ranks of the largest world that is generated")
      ->check(CLI::Range(1, largest_world))
      ->capture_default_str();
  app.add_option("--time-budget", budget_seconds_, "seconds for all properties together")
      ->check(CLI::Range(1e-3, longest_budget_seconds));
  app.add_option("--jobs", jobs_, "properties checked at a time")
      ->check(CLI::Range(1, most_jobs))
      ->capture_default_str();
  app.add_option("--junit", junit_path_, "write a JUnit XML report")->type_name("FILE");
  app.add_option("--json", json_path_, "write a JSON report")->type_name("FILE");
  app.add_option("--report", report_path_, "explain the first failure as one HTML page")
      ->type_name("FILE");
  app.add_option("--reproduce", reproduce_, "replay one shrunk case; with --filter NAME")
      ->type_name("TOKEN");
  app.add_flag("--quiet", is_quiet_, "only failures");
  app.add_flag("--list", is_list_, "list the properties and stop");
}

void CheckCommand::list(const std::vector<Property>& selected, CommandContext& context) const {
  for (const Property& property : selected) {
    context.out << fmt::format("{:<62} {}\n", property.full_name(), property.description);
  }
}

void CheckCommand::tell(const CheckedProperty& checked, CommandContext& context) const {
  if (context.out_is_terminal) context.out << "\r\033[K";
  if (!is_quiet_ || !checked.result.held()) context.out << line_of(checked, context.binary);
  context.out.flush();
}

CheckReport CheckCommand::check(const std::vector<Property>& selected,
                                CommandContext& context) const {
  CheckReport report;
  report.settings.cases = cases_;
  report.settings.seed = seed_;
  report.settings.max_world = max_world_;
  report.settings.reproduce = reproduce_;
  if (budget_seconds_) {
    report.settings.time_budget =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*budget_seconds_));
  }
  properties::RunnerEvents events;
  events.finished = [&](std::size_t index, const CheckResult& result) {
    report.properties.push_back({selected[index], result});
    tell(report.properties.back(), context);
  };
  if (context.out_is_terminal && !is_quiet_) {
    events.progress = [&context](const Progress& progress) {
      const std::string line = fmt::format("{}/{} properties, {} cases, {}", progress.finished,
                                           progress.total, progress.cases, progress.running);
      context.out << "\r\033[K" << line.substr(0, terminal_columns - 1);
      context.out.flush();
    };
  }
  const auto begin = std::chrono::steady_clock::now();
  run_properties(selected, {.settings = report.settings, .jobs = jobs_}, events);
  report.time = std::chrono::steady_clock::now() - begin;
  return report;
}

int CheckCommand::run(CommandContext& context) {
  harness::require_backend(backend_);
  std::vector<Property> offered = properties_;
  std::erase_if(offered, [this](const Property& one) { return one.backend != backend_; });
  const std::vector<Property> selected = properties::select(offered, filters_);
  if (is_list_) {
    list(selected, context);
    return harness::exit_status::holds;
  }
  if (reproduce_ && selected.size() != 1) {
    throw InvalidArgument(
        fmt::format("--reproduce needs a --filter that chooses one property; this one chooses {}",
                    selected.size()));
  }
  std::optional<OutputFile> json;
  std::optional<OutputFile> junit;
  std::optional<OutputFile> page;
  if (!json_path_.empty()) json.emplace("--json", json_path_);
  if (!junit_path_.empty()) junit.emplace("--junit", junit_path_);
  if (!report_path_.empty()) page.emplace("--report", report_path_);
  const CheckReport report = check(selected, context);
  if (!is_quiet_) context.out << summary_of(report);
  if (json) json->commit(to_json_text(report, context.binary));
  if (junit) junit->commit(to_junit_xml(report, context.binary));
  const auto failure = page ? explained_failure(report, context.binary) : std::nullopt;
  if (failure) {
    page->commit(harness::to_html(*failure));
    context.out << "  Look       " << report_path_ << '\n';
  } else if (page && !is_quiet_) {
    context.out << "No failure to explain: " << report_path_ << " is not written\n";
  }
  return report.held() ? harness::exit_status::holds : harness::exit_status::finding;
}

}  // namespace

std::unique_ptr<harness::Command> make_check_command(std::vector<Property> properties) {
  return std::make_unique<CheckCommand>(std::move(properties));
}

harness::Listing list_properties(std::vector<Property> properties) {
  return {"properties", [properties = std::move(properties)] {
            std::vector<harness::Listing::Entry> entries;
            for (const Property& property : properties) {
              entries.push_back({property.full_name(), property.description});
            }
            return entries;
          }};
}

}  // namespace gang::tools
