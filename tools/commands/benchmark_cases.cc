#include "tools/commands/benchmark_cases.h"

#include <fmt/format.h>

#include "tools/commands/measured_process.h"

namespace gang::tools {
namespace {

std::string text_of(const CaseBars& bars) {
  return fmt::format("{:.1f} GiB, {:.0f} s", bars.gib, bars.seconds);
}

struct LargeCase {
  const char* work;
  const char* name;
  CaseBars bars;
};

Benchmark large_case(const LargeCase& work, const RunCase& runner) {
  return {work.work, [work, runner] {
            std::string bar = text_of(work.bars);
            const auto run = runner(work.name);
            if (!run)
              return Measurement{std::move(bar), "gangsim_benchmarks is not built", std::nullopt};
            if (run->result.contains("error_message"))
              return Measurement{std::move(bar), "failed", false,
                                 run->result.at("error_message").get<std::string>()};
            return against(work.bars, *run);
          }};
}

}  // namespace

Measurement against(const CaseBars& bars, const MeasuredCase& run) {
  Measurement line{.bar = text_of(bars),
                   .measured = fmt::format("{:.2f} GiB, {:.1f} s", run.peak_gib, run.seconds()),
                   .holds = run.peak_gib <= bars.gib && run.seconds() <= bars.seconds};
  if (!bars.mib) return line;
  const double mib = run.result.at("json_mib").get<double>();
  line.holds = *line.holds && mib <= *bars.mib;
  line.details = fmt::format("report: {:.1f} MiB, bar {:.0f} MiB", mib, *bars.mib);
  return line;
}

double MeasuredCase::seconds() const { return result.at("real_time").get<double>() * 1e-3; }

std::optional<MeasuredCase> run_case_of(const std::string& binary, const std::string& name) {
  const MeasuredProcess process =
      run_measured({binary, "--benchmark_filter=^" + name, "--benchmark_format=json"});
  const nlohmann::json result = nlohmann::json::parse(process.output, nullptr, false);
  if (process.exit_status != 0 || !result.contains("benchmarks") || result["benchmarks"].empty())
    return std::nullopt;
  return MeasuredCase{.result = result["benchmarks"][0],
                      .peak_gib = static_cast<double>(process.peak_bytes) / (1 << 30)};
}

std::optional<MeasuredCase> run_case(const std::string& name) {
  const auto binary = find_executable(
      "gangsim_benchmarks", executable_directory() + "/benchmarks:" + executable_directory());
  return binary ? run_case_of(*binary, name) : std::nullopt;
}

std::vector<Benchmark> message_benchmarks(const RunCase& runner) {
  std::vector<Benchmark> lines;
  for (const LargeCase& work : {
           LargeCase{.work = "gather by messages, 16,384 ranks",
                     .name = "gather_by_messages/ranks:16384/any:0/",
                     .bars = {.gib = 0.3, .seconds = 1}},
           LargeCase{.work = "gather from any, 16,384 ranks",
                     .name = "gather_by_messages/ranks:16384/any:1/",
                     .bars = {.gib = 0.3, .seconds = 1}},
           LargeCase{.work = "send cycle settled, 16,384 ranks",
                     .name = "settled_send_cycle/16384/",
                     .bars = {.gib = 0.4, .seconds = 5}},
           LargeCase{.work = "wrong tag settled, 16,384 ranks",
                     .name = "settled_wrong_tag_in_line/16384/",
                     .bars = {.gib = 0.4, .seconds = 5, .mib = 8}},
           LargeCase{.work = "8,192 wrong tags settled",
                     .name = "settled_wrong_tags/16384/",
                     .bars = {.gib = 0.4, .seconds = 5, .mib = 8}},
           LargeCase{.work = "one of 65,536 ranks fails",
                     .name = "settled_failure/65536/",
                     .bars = {.gib = 0.8, .seconds = 2}},
       })
    lines.push_back(large_case(work, runner));
  return lines;
}

std::vector<Benchmark> exploration_benchmarks(const RunCase& runner) {
  const auto line = [&runner](const char* work, double bar, const char* figure, const char* unit) {
    return Benchmark{work, [=] {
                       std::string text = fmt::format("{:.0f}/s", bar);
                       const auto run = runner("every_schedule_of_four_times_four/");
                       if (!run)
                         return Measurement{std::move(text), "gangsim_benchmarks is not built",
                                            std::nullopt};
                       const double rate = run->result.at(figure).get<double>();
                       return Measurement{.bar = std::move(text),
                                          .measured = fmt::format("{:.0f} {}/s", rate, unit),
                                          .holds = rate >= bar};
                     }};
  };
  return {line("explore 4 ranks x 4 operations", 300'000, "items_per_second", "schedules"),
          line("explore, contested choices", 1'000'000, "contested_choices", "choices")};
}

Benchmark reduction_benchmark(const RunCase& runner) {
  return {"slowest reduction, plain loop", [runner] {
            constexpr double bar = 0.8;
            std::string text = fmt::format("{:.1f} x as fast", bar);
            const auto run = runner("reductions_against_plain_loops");
            if (!run)
              return Measurement{std::move(text), "gangsim_benchmarks is not built", std::nullopt};
            const double share = run->result.at("slowest_share").get<double>();
            return Measurement{.bar = std::move(text),
                               .measured = fmt::format("{:.2f} ({})", share,
                                                       run->result.at("label").get<std::string>()),
                               .holds = share >= bar};
          }};
}

Benchmark recording_benchmark(const RunCase& runner) {
  return {"recorded call", [runner] {
            constexpr double bar_ns = 50;
            std::string bar = fmt::format("{:.0f} ns", bar_ns);
            const auto run = runner("recorded_call");
            if (!run)
              return Measurement{std::move(bar), "gangsim_benchmarks is not built", std::nullopt};
            const double nanoseconds = run->result.at("real_time").get<double>();
            return Measurement{.bar = std::move(bar),
                               .measured = fmt::format("{:.0f} ns", nanoseconds),
                               .holds = nanoseconds < bar_ns};
          }};
}

}  // namespace gang::tools
