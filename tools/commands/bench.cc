#include "tools/commands/bench.h"

#include <algorithm>
#include <optional>
#include <ostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/text/output_file.h"
#include "tools/commands/benchmark_table.h"

namespace gang::tools {
namespace {

using harness::CommandContext;
using nlohmann::json;

std::string_view verdict_of(const Measurement& line) {
  return !line.holds ? "" : *line.holds ? "holds" : "missed";
}

class BenchCommand final : public harness::Command {
 public:
  std::string name() const override { return "bench"; }
  std::string description() const override { return "measures speed and memory against the bars"; }
  std::vector<std::string> examples() const override {
    return {"bench", "bench --quick", "bench --filter gloo", "bench --json bench.json"};
  }

  void add_options(CLI::App& app) override {
    app.add_flag("--quick", quick_, "each once, and nothing beyond 131,072 ranks");
    app.add_option("--filter", filters_,
                   "lines that hold this text, * and ? allowed; may be repeated")
        ->type_name("GLOB")
        ->allow_extra_args(false);
    app.add_option("--json", json_path_, "the table as JSON")->type_name("FILE");
  }

  int run(CommandContext& context) override {
    const std::vector<Benchmark> benchmarks =
        select(all_benchmarks(quick_ ? Thoroughness::quick : Thoroughness::full), filters_);
    std::optional<harness::OutputFile> file;
    if (!json_path_.empty()) file.emplace("--json", json_path_);
    context.out << fmt::format("{:<35}{:<15}{:<24}\n", "work", "bar", "measured");
    context.out.flush();
    json lines = json::array();
    bool all_hold = true;
    for (const Benchmark& benchmark : benchmarks) {
      const Measurement line = benchmark.measure();
      context.out << fmt::format("{:<35}{:<15}{:<24}{}\n", benchmark.work, line.bar, line.measured,
                                 verdict_of(line));
      if (!line.details.empty()) context.out << fmt::format("{:>79}\n", line.details);
      context.out.flush();
      all_hold = all_hold && line.holds != false;
      lines.push_back({{"work", benchmark.work},
                       {"bar", line.bar},
                       {"measured", line.measured},
                       {"details", line.details},
                       {"holds", line.holds ? json(*line.holds) : json()}});
    }
    if (file) file->commit(lines.dump(2) + "\n");
    return all_hold ? harness::exit_status::holds : harness::exit_status::finding;
  }

 private:
  bool quick_ = false;
  std::vector<std::string> filters_;
  std::string json_path_;
};

}  // namespace

std::unique_ptr<harness::Command> make_bench_command() { return std::make_unique<BenchCommand>(); }

}  // namespace gang::tools
