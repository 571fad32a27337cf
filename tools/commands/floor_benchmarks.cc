#include "tools/commands/floor_benchmarks.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "gang/error.h"
#include "tools/commands/measured_process.h"

namespace gang::tools {
namespace {

struct FloorCase {
  std::string what;
  std::string floor;  // the benchmarks' names, as patterns
  std::string ours;
  double bar;
};

FloorCase all_reduce_case(int world_size, double bar) {
  return {.what = fmt::format("all_reduce, {} ranks, floor", world_size),
          .floor = fmt::format("floor_all_reduce/{}$", world_size),
          .ours = fmt::format("all_reduce_4_bytes/{}/", world_size),
          .bar = bar};
}

std::vector<FloorCase> floor_cases() {
  return {all_reduce_case(8, 3.0),
          all_reduce_case(1024, 2.5),
          all_reduce_case(131'072, 1.8),
          // Gloo's own algorithm takes most of it, on both sides.
          {.what = "sim-gloo, 8 ranks, floor",
           .floor = "floor_gloo_all_reduce/8$",
           .ours = "all_reduce_4_bytes_over_gloo/8/",
           .bar = 1.15}};
}

// What is compared, in nanoseconds per rank-operation.
struct Pair {
  double ns;
  double reference_ns;
  double ratio() const { return ns / reference_ns; }
};

// `measure` measures both in turn, `pairs` times (an odd number); the pair with the median ratio
// counts. `missing`: what to do where it cannot.
Measurement measure_pairs(int pairs, double bar, std::string text, std::string missing,
                          const std::function<std::optional<Pair>()>& measure) {
  std::vector<Pair> measured;
  for (int i = 0; i < pairs; ++i) {
    const std::optional<Pair> pair = measure();
    if (!pair) return {std::move(text), std::move(missing), std::nullopt};
    measured.push_back(*pair);
  }
  std::ranges::sort(measured, {}, &Pair::ratio);
  const Pair& median = measured[measured.size() / 2];
  return {.bar = std::move(text),
          .measured = fmt::format("{:.2f} x ({:.0f} / {:.0f} ns)", median.ratio(), median.ns,
                                  median.reference_ns),
          .holds = median.ratio() <= bar};
}

Measurement measure_against_floor(const FloorCase& work, const RunCase& runner) {
  std::string text = fmt::format("{:.2f} x floor", work.bar);
  std::string missing = "build gangsim_benchmarks (with libgloo-dev)";
  const auto measure = [&]() -> std::optional<Pair> {
    const auto floor = runner(work.floor);
    const auto ours = runner(work.ours);
    if (!floor || !ours) return std::nullopt;
    return Pair{ours->result.at("ns_per_rank_operation").get<double>(),
                1e9 / floor->result.at("items_per_second").get<double>()};
  };
  return measure_pairs(3, work.bar, std::move(text), std::move(missing), measure);
}

Measurement measure_against_all_reduce(const std::string& kind, const TimeOfKind& time_of) {
  // Each takes a few hundredths of a second, in which a shared machine may be twice as fast as in
  // the next.
  constexpr int pairs = 15;
  const auto measure = [&]() -> std::optional<Pair> {
    const auto all_reduce = time_of("all_reduce");
    const auto ours = time_of(kind);
    if (!all_reduce || !ours) return std::nullopt;
    return Pair{*ours, *all_reduce};
  };
  return measure_pairs(pairs, 1.5, "1.50 x", "build gangsim_benchmarks", measure);
}

std::optional<std::string> repeated_calls() {
  return find_executable("repeated_calls", executable_directory() +
                                               "/benchmarks:" + executable_directory() + ":" +
                                               executable_directory() + "/../tools/benchmarks");
}

// The number that a text begins with.
std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

// "==12== Collected : 6223417", which callgrind writes to its log.
std::optional<double> collected(std::string_view log) {
  constexpr std::string_view label = "Collected : ";
  const std::size_t place = log.find(label);
  if (place == std::string_view::npos) return std::nullopt;
  return number_in(log.substr(place + label.size()));
}

Measurement count_instructions(const CountedCall& call) {
  std::string bar = fmt::format("{:.0f}", call.bar);
  const auto count = instructions_of(call);
  if (!count)
    return {std::move(bar), "install valgrind, then build gangsim_benchmarks", std::nullopt};
  return {.bar = std::move(bar),
          .measured = fmt::format("{:.0f}", *count),
          .holds = *count <= call.bar};
}

}  // namespace

const std::vector<CountedCall>& counted_calls() {
  static const std::vector<CountedCall> calls = {
      {"all_reduce", 8, 500, 474},
      {"all_reduce", 1024, 500, 489},
      {"reduce", 8, 516, 483},
      {"reduce_scatter", 8, 629, 589},
      {"all_gather", 8, 549, 536},
      {"all_gather_to_list", 8, 1068, 769},
      {"gather", 8, 552, 511},
      {"scatter", 8, 528, 512},
      {"all_to_all", 8, 1167, 638},
      {"broadcast", 8, 461, 452},
      {"barrier", 8, 390, 387},
      {"send_recv", 8, 518, 513},
      {"start_all_reduce", 8, 1529, 995},
  };
  return calls;
}

std::optional<double> instructions_of(const CountedCall& call) {
  const char* path = std::getenv("PATH");
  const auto valgrind = find_executable("valgrind", path == nullptr ? "" : path);
  const auto binary = repeated_calls();
  if (!valgrind || !binary) return std::nullopt;
  const auto count = [&](int repeats) {
    const MeasuredProcess run = run_measured(
        {*valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", "--log-file=/dev/stdout",
         *binary, call.kind, fmt::format("{}", call.world_size), fmt::format("{}", repeats)});
    const auto total = run.exit_status == 0 ? collected(run.output) : std::nullopt;
    if (!total)
      throw NotSupported(fmt::format("valgrind could not count the instructions of {}: {}",
                                     call.kind, run.output));
    return *total;
  };
  // Enough that what is made once, when the first calls need it, is behind them.
  const int few = call.world_size > 100 ? 20 : 200;
  const int many = 4 * few;
  return (count(many) - count(few)) / (many - few) / call.world_size;
}

std::vector<Benchmark> floor_benchmarks(const RunCase& runner) {
  std::vector<Benchmark> lines;
  for (const FloorCase& work : floor_cases())
    lines.push_back({work.what, [work, runner] { return measure_against_floor(work, runner); }});
  return lines;
}

std::optional<double> time_of_kind(const std::string& kind) {
  const auto binary = repeated_calls();
  if (!binary) return std::nullopt;
  return number_in(run_checked({*binary, kind, "8", "100000"}).output);
}

std::vector<Benchmark> kind_benchmarks(const TimeOfKind& time_of) {
  std::vector<Benchmark> lines;
  for (const CountedCall& call : counted_calls())
    if (call.kind != "all_reduce")
      lines.push_back({fmt::format("{}, vs all_reduce", call.kind), [kind = call.kind, time_of] {
                         return measure_against_all_reduce(kind, time_of);
                       }});
  return lines;
}

std::vector<Benchmark> instruction_benchmarks() {
  std::vector<Benchmark> lines;
  for (const CountedCall& call : counted_calls()) {
    const std::string ranks = call.world_size == 8 ? "" : fmt::format(", {}", call.world_size);
    lines.push_back({fmt::format("instructions, {}{}", call.kind, ranks),
                     [call] { return count_instructions(call); }});
  }
  return lines;
}

}  // namespace gang::tools
