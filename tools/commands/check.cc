#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <ostream>
#include <span>

#include <fmt/format.h>

#include "gang/error.h"
#include "gang/hash.h"
#include "harness/backends/backend.h"
#include "harness/commands/shard_option.h"
#include "harness/explanation/html_page.h"
#include "properties/property_runner.h"
#include "properties/selection.h"
#include "tools/commands/check_report.h"
#include "tools/commands/commands.h"

namespace gang::tools {
namespace {

using harness::CommandContext;
using properties::CheckResult;
using properties::Progress;
using properties::Property;

constexpr double longest_budget_seconds = 1e9;
constexpr int largest_world = 1024;
constexpr int most_jobs = 256;
constexpr std::size_t terminal_columns = 80;

harness::BackendKind parse_simulated(std::string_view text) {
  const harness::BackendKind kind = harness::parse_backend(text);
  if (harness::is_simulated(kind)) return kind;
  throw InvalidArgument(
      fmt::format("--backend is '{}'; must be one of: sim, sim-gloo, sim-nccl", text));
}

class CheckCommand final : public harness::Command {
 public:
  CheckCommand(std::vector<Property> properties, harness::ReadEnvironment variables)
      : properties_(std::move(properties)), shards_(std::move(variables)) {}

  std::string name() const override { return "check"; }
  std::string description() const override { return "checks the properties that must always hold"; }
  std::vector<std::string> examples() const override {
    return {"check --seed 1",
            "check --filter 'meshes_partition.*' --cases 5000",
            "check --time-budget 10 --junit check.xml --report check.html",
            "check --backend sim-gloo --seed 1",
            "check --backend sim-nccl --seed 1",
            "check --cases 1000000 --shard 3/8 --json shards/3.json"};
  }

  std::vector<harness::Option> options() override;
  int run(CommandContext& context) override;

 private:
  void list(const std::vector<Property>& selected, CommandContext& context) const;
  CheckReport check(const std::vector<Property>& selected, CommandContext& context) const;
  void print(const CheckedProperty& checked, CommandContext& context) const;

  std::vector<Property> properties_;
  std::vector<std::string> filters_;
  harness::BackendKind backend_ = harness::BackendKind::sim;
  std::uint64_t cases_ = properties::Settings{}.cases;
  std::uint64_t seed_ = 1;
  int max_world_ = properties::Settings{}.max_world;
  std::optional<double> budget_seconds_;
  int jobs_ = 2;
  harness::ShardOption shards_;
  harness::FileOption junit_{"--junit"};
  harness::FileOption json_{"--json"};
  harness::FileOption sarif_{"--sarif"};
  harness::FileOption page_{"--report"};
  std::optional<std::string> reproduce_;
  bool is_quiet_ = false;
  bool is_list_ = false;
};

std::vector<harness::Option> CheckCommand::options() {
  using harness::flag_option;
  using harness::number_option;
  const properties::Settings defaults;
  return {
      harness::list_option("--filter", "GLOB",
                           "names or suites, * and ? allowed; several with commas", filters_),
      {.name = "--backend",
       .value_name = "NAME",
       .description = "what the gangs are: sim, sim-gloo (Gloo's algorithms) or sim-nccl (streams "
                      "of a simulated NCCL) [sim]",
       .set = [this](std::string_view text) { backend_ = parse_simulated(text); }},
      number_option("--cases", fmt::format("cases of a cheap property [{}]", defaults.cases),
                    cases_, std::uint64_t{1}, std::uint64_t{1'000'000'000}),
      number_option("--seed", "seed for everything random [1]", seed_, std::uint64_t{0},
                    std::numeric_limits<std::uint64_t>::max()),
      number_option("--max-world",
                    fmt::format("ranks of the largest generated world [{}]", defaults.max_world),
                    max_world_, 1, largest_world),
      number_option("--time-budget", "seconds for all properties together", budget_seconds_, 1e-3,
                    longest_budget_seconds),
      number_option("--jobs", "properties to check at a time [2]", jobs_, 1, most_jobs),
      shards_.option(),
      junit_.option("write a JUnit XML report"),
      json_.option("write a JSON report"),
      sarif_.option("write the failures as SARIF, for code review"),
      page_.option("explain the first failure as one HTML page"),
      harness::text_option("--reproduce", "TOKEN", "replay one shrunk case; with --filter NAME",
                           reproduce_),
      flag_option("--quiet", "print only failures", is_quiet_),
      flag_option("--list", "list the properties and stop", is_list_)};
}

void CheckCommand::list(const std::vector<Property>& selected, CommandContext& context) const {
  for (const Property& property : selected)
    context.out << fmt::format("{:<62} {}\n", property.full_name(), property.description);
}

void CheckCommand::print(const CheckedProperty& checked, CommandContext& context) const {
  if (context.out_is_terminal) context.out << "\r\033[K";
  if (!is_quiet_ || !checked.result.held()) context.out << line_of(checked, context.binary);
  context.out.flush();
}

CheckReport CheckCommand::check(const std::vector<Property>& selected,
                                CommandContext& context) const {
  CheckReport report;
  // Properties of one suite cost about the same, so that each shard gets some of every suite.
  report.shard = reproduce_ ? harness::Shard{} : shards_.announced(context.out);
  report.selected = selected.size();
  std::vector<Property> own;
  std::vector<std::size_t> indices;
  for (std::size_t index = 0; index < selected.size(); ++index) {
    const std::string name =
        fmt::format("{} {}\n", to_string(selected[index].backend), selected[index].full_name());
    report.selection = fnv1a(std::as_bytes(std::span(name)), report.selection);
    if (!report.shard.contains(index)) continue;
    own.push_back(selected[index]);
    indices.push_back(index);
  }
  report.settings.cases = cases_;
  report.settings.seed = seed_;
  report.settings.max_world = max_world_;
  report.settings.reproduce = reproduce_;
  if (budget_seconds_)
    report.settings.time_budget =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*budget_seconds_));
  properties::RunnerEvents events;
  events.finished = [&](std::size_t index, const CheckResult& result) {
    report.properties.push_back({own[index], result, indices[index]});
    print(report.properties.back(), context);
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
  run_properties(own, {.settings = report.settings, .jobs = jobs_}, events);
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
  if (reproduce_ && selected.size() != 1)
    throw InvalidArgument(
        fmt::format("--reproduce needs a --filter that selects one property; this one selects {}",
                    selected.size()));
  for (harness::FileOption* file : {&json_, &junit_, &sarif_, &page_}) file->open();
  const CheckReport report = check(selected, context);
  if (!is_quiet_) context.out << summary_of(report);
  json_.write([&] { return to_json_text(report, context.binary); });
  junit_.write(
      [&] { return harness::to_junit_xml("gangsim check", to_junit(report, context.binary)); });
  sarif_.write(
      [&] { return harness::to_sarif_text("gangsim check", to_sarif(report, context.binary)); });
  const auto failure = page_.is_given() ? explained_failure(report, context.binary) : std::nullopt;
  if (failure) {
    page_.write([&failure] { return harness::to_html(*failure); });
    if (page_.names_file()) context.out << "  Report     " << page_.path() << '\n';
  } else if (page_.is_given() && !is_quiet_) {
    context.out << "No failure to explain; " << page_.path() << " was not written\n";
  }
  return report.held() ? harness::exit_status::holds : harness::exit_status::finding;
}

}  // namespace

std::unique_ptr<harness::Command> make_check_command(std::vector<Property> properties,
                                                     harness::ReadEnvironment variables) {
  return std::make_unique<CheckCommand>(std::move(properties), std::move(variables));
}

harness::Listing list_properties(std::vector<Property> properties) {
  return {"properties", [properties = std::move(properties)] {
            std::vector<harness::Listing::Entry> entries;
            for (const Property& property : properties)
              entries.push_back({property.full_name(), property.description});
            return entries;
          }};
}

}  // namespace gang::tools
