#include "tools/commands/benchmark_table.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "gang/root_gang.h"
#include "harness/text/number_text.h"
#include "properties/selection.h"
#include "tools/commands/benchmark_cases.h"
#include "tools/commands/floor_benchmarks.h"
#include "tools/commands/measured_process.h"
#include "tools/commands/torch_benchmarks.h"

namespace gang::tools {
namespace {

using nlohmann::json;

// One run of a built-in program in a process of its own.
struct MeasuredRun {
  double wall_ns = 0;
  double rank_operations = 1;
  double peak_gib = 0;

  double ns_per_operation() const { return wall_ns / rank_operations; }
};

std::string own_executable() { return executable_directory() + "/gangsim"; }

json json_of(const MeasuredProcess& process, const std::string& program) {
  json result = json::parse(process.output, nullptr, false);
  if (result.is_discarded()) throw NotSupported(fmt::format("{} did not print JSON", program));
  return result;
}

json run_for_json(const std::vector<std::string>& arguments) {
  return json_of(run_checked(arguments), arguments.front());
}

MeasuredRun run_program(const std::string& program, int world_size,
                        const std::vector<std::string>& further) {
  const std::string json_path = "/dev/stdout";
  std::vector<std::string> arguments = {
      own_executable(), "run",     program,  "--world", fmt::format("{}", world_size),
      "--json",         json_path, "--quiet"};
  arguments.insert(arguments.end(), further.begin(), further.end());
  const MeasuredProcess process = run_checked(arguments);
  const json result = json_of(process, arguments.front());
  return {.wall_ns = result.at("wall_time_ns").get<double>(),
          .rank_operations = result.at("rank_operations").get<double>(),
          .peak_gib = static_cast<double>(process.peak_bytes) / (1 << 30)};
}

struct SmallAllReduce {
  int world_size;
  int iterations;
  double bar_ns;
  const char* context = "fiber";
  const char* backend = "sim";
};

double measure_small(const SmallAllReduce& work, int repeats) {
  return median_of(repeats, [&work] {
    return run_program("all_reduce", work.world_size,
                       {"--backend", work.backend, "--context", work.context, "--set",
                        fmt::format("iterations={}", work.iterations)})
        .ns_per_operation();
  });
}

Benchmark small_all_reduce(const SmallAllReduce& work, int repeats) {
  const bool on_threads = std::string_view{work.context} == "thread";
  const std::string what = std::string_view{work.backend} == "sim"
                               ? "4 byte all_reduce"
                               : fmt::format("{}, 4 bytes", work.backend);
  return {
      fmt::format("{}, {} {}", what, harness::grouped(static_cast<std::uint64_t>(work.world_size)),
                  on_threads ? "threads" : "ranks"),
      [work, repeats] {
        const double ns = measure_small(work, repeats);
        return Measurement{.bar = fmt::format("{:.0f} ns", work.bar_ns),
                           .measured = fmt::format("{:.1f} ns", ns),
                           .holds = ns <= work.bar_ns};
      }};
}

// A program at scale: the run's own time, and the memory of its process.
struct LargeRun {
  const char* what;
  const char* program;
  int world_size;
  std::vector<std::string> further;
  double bar_gib;
  double bar_seconds;
};

Benchmark large_run(const LargeRun& work) {
  return {fmt::format("{}, {} ranks", work.what,
                      harness::grouped(static_cast<std::uint64_t>(work.world_size))),
          [work] {
            const MeasuredRun run = run_program(work.program, work.world_size, work.further);
            const double seconds = run.wall_ns * 1e-9;
            return Measurement{
                .bar = fmt::format("{:.1f} GiB, {:.0f} s", work.bar_gib, work.bar_seconds),
                .measured = fmt::format("{:.2f} GiB, {:.1f} s", run.peak_gib, seconds),
                .holds = run.peak_gib <= work.bar_gib && seconds <= work.bar_seconds};
          }};
}

Benchmark mesh(int world_size, double bar_gib, double bar_seconds) {
  return large_run({.what = "mesh, 3 axes",
                    .program = "mesh",
                    .world_size = world_size,
                    .further = {"--set", "tp=8", "--set", "pp=16"},
                    .bar_gib = bar_gib,
                    .bar_seconds = bar_seconds});
}

// A step of 1F1B over pp 16 x dp 128 x tp 8, 32 microbatches, without its arithmetic.
Benchmark hybrid_step() {
  return large_run({.what = "hybrid step",
                    .program = "hybrid",
                    .world_size = 16384,
                    .further = {"--set", "pp=16", "--set", "tp=8", "--set", "mode=communication"},
                    .bar_gib = 6,
                    .bar_seconds = 60});
}

Measurement unmeasured(std::string bar, std::string reason) {
  return {std::move(bar), std::move(reason), std::nullopt};
}

// 16 MiB on 8 ranks, against the plain sum: the bar is 15 ms if that takes 12. Machines are noisy,
// so the two take turns, and the pair with the median ratio counts.
Measurement measure_large_all_reduce(int repeats) {
  const auto wall_ns = [](int iterations) {
    return run_program(
               "all_reduce", 8,
               {"--set", "count=4194304", "--set", fmt::format("iterations={}", iterations)})
        .wall_ns;
  };
  struct Pair {
    double ms;
    double plain_ms;
    double ratio() const { return ms / plain_ms; }
  };
  std::vector<Pair> pairs;
  for (int i = 0; i < repeats; ++i) {
    const auto plain = run_case("plain_sum_16_mib");
    if (!plain) return unmeasured("1.25 plain", "gangsim_benchmarks is not built");
    const double ms = (wall_ns(41) - wall_ns(1)) / 40 * 1e-6;
    pairs.push_back({ms, plain->seconds() * 1e3});
  }
  std::ranges::sort(pairs, {}, &Pair::ratio);
  const Pair& median = pairs[pairs.size() / 2];
  const double bar_ms = 15.0 / 12 * median.plain_ms;
  return {.bar = fmt::format("{:.1f} ms", bar_ms),
          .measured = fmt::format("{:.1f} ms (plain {:.1f})", median.ms, median.plain_ms),
          .holds = median.ms <= bar_ms};
}

Measurement measure_property_cases() {
  const std::string bar = "40,000 / s";  // of one thread
  const auto result = run_case("random_property_case");
  if (!result) return unmeasured(bar, "gangsim_benchmarks is not built");
  const double rate = result->result.at("items_per_second").get<double>();
  return {.bar = bar, .measured = fmt::format("{:.0f} / s", rate), .holds = rate >= 40'000};
}

Measurement compare_with_openmpi(int repeats) {
  const std::string bar = "25 x faster";
  const char* path = std::getenv("PATH");
  const auto mpirun = find_executable("mpirun", path == nullptr ? "" : path);
  const auto binary = find_executable("openmpi_all_reduce", executable_directory() + "/benchmarks");
  if (!mpirun || !binary)
    return unmeasured(bar, "install libopenmpi-dev and openmpi-bin, then rebuild");
  const std::vector<std::string> arguments = {
      *mpirun, "--allow-run-as-root", "--oversubscribe", "-np", "8", *binary};
  const double mpi_ns = median_of(repeats, [&arguments] {
    return run_for_json(arguments).at("ns_per_rank_operation").get<double>();
  });
  const double ns = measure_small({8, 200'000, 0}, repeats);
  return {.bar = bar,
          .measured = fmt::format("{:.0f} x ({:.0f} ns)", mpi_ns / ns, mpi_ns),
          .holds = mpi_ns >= 25 * ns};
}

// What a program of tools/benchmarks prints for `size` processes or GPUs; none if it is not built.
std::optional<json> run_pairs(const std::string& program, int size, int pairs) {
  const auto binary = find_executable(program, executable_directory() + "/benchmarks");
  if (!binary) return std::nullopt;
  return run_for_json({*binary, fmt::format("{}", size), fmt::format("{}", pairs)});
}

int pairs_of(Thoroughness thoroughness) { return thoroughness == Thoroughness::quick ? 11 : 101; }

constexpr const char* needs_gloo = "install libgloo-dev, then rebuild";

// A gang over Gloo against hand-written calls of Gloo: the worst of its sizes, 4 bytes to 16 MiB.
Measurement compare_with_raw_gloo(int processes, Thoroughness thoroughness) {
  const auto lines = run_pairs("gloo_all_reduce", processes, pairs_of(thoroughness));
  return lines ? worst_ratio("1.02", *lines) : unmeasured("1.02", needs_gloo);
}

// A step of data parallelism with asynchronous buckets against one with blocking buckets.
Measurement compare_with_blocking_buckets(Thoroughness thoroughness) {
  const auto result = run_pairs("gloo_ddp", 2, 2 * pairs_of(thoroughness) - 1);
  if (!result) return unmeasured("1.00", needs_gloo);
  const double ratio = result->at("median_ratio").get<double>();
  return {.bar = "1.00",
          .measured = fmt::format("{:.3f} ({:.1f} ms a step)", ratio,
                                  result->at("asynchronous_us").get<double>() * 1e-3),
          .holds = ratio <= 1.0};
}

// From start to a compared result: simulated, then on processes.
Measurement measure_start_of_processes(int repeats) {
  const std::vector<std::string> arguments = {
      own_executable(), "compare", "all_reduce", "--backend", "gloo", "--world", "8", "--quiet"};
  const double seconds = median_of(repeats, [&arguments] {
    const auto began = std::chrono::steady_clock::now();
    run_checked(arguments);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  });
  return {.bar = "1 s", .measured = fmt::format("{:.2f} s", seconds), .holds = seconds < 1};
}

// A gang over NCCL against the calls that it makes: the worst of its sizes, 4 bytes to 1 GiB.
Measurement compare_with_raw_nccl(Thoroughness thoroughness) {
  if (const BackendAvailability nccl = nccl_availability(); !nccl.is_available)
    return unmeasured("1.02", nccl.reason);
  const auto lines = run_pairs("nccl_all_reduce", 1, pairs_of(thoroughness));
  return lines ? worst_ratio("1.02", *lines) : unmeasured("1.02", "nccl_all_reduce is not built");
}

void add_gloo(std::vector<Benchmark>& table, Thoroughness thoroughness, int repeats) {
  table.push_back(small_all_reduce({8, 20'000, 700, "fiber", "sim-gloo"}, repeats));
  table.push_back(small_all_reduce({512, 20, 100'000, "fiber", "sim-gloo"}, repeats));
  for (const int processes : {2, 4})
    table.push_back({fmt::format("gloo, {} processes, vs raw Gloo", processes),
                     [=] { return compare_with_raw_gloo(processes, thoroughness); }});
  table.push_back({"gloo, 2, ddp, vs blocking",
                   [thoroughness] { return compare_with_blocking_buckets(thoroughness); }});
  table.push_back(
      {"gloo, 8 processes, compare", [repeats] { return measure_start_of_processes(repeats); }});
}

bool matches(const std::string& pattern, const std::string& work) {
  return work.find(pattern) != std::string::npos || properties::matches_glob(pattern, work);
}

}  // namespace

std::vector<Benchmark> all_benchmarks(Thoroughness thoroughness) {
  const bool is_quick = thoroughness == Thoroughness::quick;
  const int repeats = is_quick ? 1 : 3;
  std::vector<Benchmark> table;
  table.push_back(small_all_reduce({8, 200'000, 80}, repeats));
  table.push_back(small_all_reduce({1024, 2'000, 100}, repeats));
  table.push_back(small_all_reduce({131'072, 100, 300}, is_quick ? 1 : 2));
  if (!is_quick) table.push_back(small_all_reduce({1'048'576, 100, 600}, 1));
  for (Benchmark& line : floor_benchmarks()) table.push_back(std::move(line));
  for (Benchmark& line : kind_benchmarks()) table.push_back(std::move(line));
  for (Benchmark& line : instruction_benchmarks()) table.push_back(std::move(line));
  table.push_back(small_all_reduce({64, 1'000, 10'000, "thread"}, repeats));
  table.push_back(
      {"8 ranks, against OpenMPI", [repeats] { return compare_with_openmpi(repeats); }});
  add_gloo(table, thoroughness, repeats);
  for (Benchmark& line : torch_benchmarks()) table.push_back(std::move(line));
  table.push_back({"nccl, 1 rank, vs raw NCCL",
                   [thoroughness] { return compare_with_raw_nccl(thoroughness); }});
  table.push_back(
      {"16 MiB f32 all_reduce, 8 ranks", [repeats] { return measure_large_all_reduce(repeats); }});
  table.push_back(reduction_benchmark());
  table.push_back({"random property cases", measure_property_cases});
  for (Benchmark& line : message_benchmarks()) table.push_back(std::move(line));
  table.push_back(recording_benchmark());
  for (Benchmark& line : exploration_benchmarks()) table.push_back(std::move(line));
  table.push_back(mesh(131'072, 1.5, 5));
  table.push_back(hybrid_step());
  if (!is_quick) table.push_back(mesh(1'048'576, 5, 12));
  return table;
}

double median_of(int repeats, const std::function<double()>& measure) {
  std::vector<double> values;
  for (int i = 0; i < repeats; ++i) values.push_back(measure());
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Measurement worst_ratio(const std::string& bar, const json& lines) {
  constexpr double limit = 1.02;
  double worst = 0;
  double worst_low = 0;
  std::string ratios;
  std::string intervals;
  for (const json& line : lines) {
    const double ratio = line.at("median_ratio").get<double>();
    const double low = line.at("low").get<double>();
    worst = std::max(worst, ratio);
    worst_low = std::max(worst_low, low);
    ratios += fmt::format("{}{:.3f}", ratios.empty() ? "" : " ", ratio);
    intervals += fmt::format(" {:.3f}-{:.3f}", low, line.at("high").get<double>());
  }
  Measurement measured{.bar = bar, .measured = ratios, .details = "95 % confidence:" + intervals};
  if (worst <= limit || worst_low > limit) measured.holds = worst <= limit;
  return measured;
}

std::vector<Benchmark> select(std::vector<Benchmark> benchmarks,
                              const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    if (std::ranges::any_of(benchmarks,
                            [&](const Benchmark& one) { return matches(pattern, one.work); }))
      continue;
    std::vector<std::string> works;
    for (const Benchmark& one : benchmarks) works.push_back(fmt::format("'{}'", one.work));
    throw InvalidArgument(fmt::format("--filter '{}' matches no line of the table; lines: {}",
                                      pattern, fmt::join(works, "; ")));
  }
  if (patterns.empty()) return benchmarks;
  std::erase_if(benchmarks, [&patterns](const Benchmark& one) {
    return std::ranges::none_of(
        patterns, [&one](const std::string& pattern) { return matches(pattern, one.work); });
  });
  return benchmarks;
}

}  // namespace gang::tools
