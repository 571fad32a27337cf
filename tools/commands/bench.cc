#include <algorithm>
#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/commands/benchmark_table.h"
#include "tools/commands/commands.h"

namespace gang::tools {
namespace {

using harness::CommandContext;
using nlohmann::json;

std::string_view verdict_of(const Measurement& line) {
  return !line.holds ? "" : *line.holds ? "holds" : "missed";
}

using Table = std::function<std::vector<Benchmark>(Thoroughness)>;

class BenchCommand final : public harness::Command {
 public:
  explicit BenchCommand(Table table) : table_(std::move(table)) {}

  std::string name() const override { return "bench"; }
  std::string description() const override {
    return "measures speed and memory against stated bars";
  }
  std::vector<std::string> examples() const override {
    return {"bench", "bench --quick", "bench --filter gloo", "bench --json bench.json"};
  }

  std::vector<harness::Option> options() override {
    return {harness::flag_option("--quick", "measure once each, up to 131,072 ranks", quick_),
            harness::list_option("--filter", "GLOB",
                                 "lines that contain this text; * and ? match any text; repeatable",
                                 filters_),
            json_.option("the table as JSON")};
  }

  int run(CommandContext& context) override {
    const std::vector<Benchmark> benchmarks =
        select(table_(quick_ ? Thoroughness::quick : Thoroughness::full), filters_);
    json_.open();
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
    json_.write([&lines] {
      return json{{"format", "gangsim benchmarks"}, {"version", 1}, {"lines", lines}}.dump(2) +
             "\n";
    });
    return all_hold ? harness::exit_status::holds : harness::exit_status::finding;
  }

 private:
  Table table_;
  bool quick_ = false;
  std::vector<std::string> filters_;
  harness::FileOption json_{"--json"};
};

}  // namespace

std::unique_ptr<harness::Command> make_bench_command(Table table) {
  return std::make_unique<BenchCommand>(std::move(table));
}

}  // namespace gang::tools
