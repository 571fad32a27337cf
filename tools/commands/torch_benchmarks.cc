#include "tools/commands/torch_benchmarks.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "harness/conductor/python.h"
#include "tools/commands/measured_process.h"

namespace gang::tools {
namespace {

using nlohmann::json;

constexpr const char* processes = "8";

// Microseconds by name, as torch_collectives.py writes them.
using Times = std::map<std::string, double>;

std::string script() {
  const auto path = std::filesystem::path(executable_directory()) / "../../../tools/benchmarks" /
                    "torch_collectives.py";
  if (!std::filesystem::exists(path))
    throw NotSupported("torch_collectives.py is not beside this build");
  return path.lexically_normal().string();
}

// Runs `words`, in which "FILE" stands for where the script writes.
Times measure(std::vector<std::string> words) {
  const std::string file =
      (std::filesystem::temp_directory_path() / fmt::format("gangsim-bench-{}.json", ::getpid()))
          .string();
  for (std::string& word : words)
    if (word == "FILE") word = file;
  const MeasuredProcess process = run_measured(words);
  Times times;
  if (std::ifstream in(file); process.exit_status == 0 && in) times = json::parse(in).get<Times>();
  std::filesystem::remove(file);
  if (times.empty())
    throw NotSupported(
        fmt::format("'{}' ended with exit status {}", fmt::join(words, " "), process.exit_status));
  return times;
}

// Both sides, measured once for all lines, one after the other so that they share a noisy machine.
class Comparison {
 public:
  const Times& on_gangsim() { return measured().gangsim; }
  const Times& on_gloo() { return measured().gloo; }

 private:
  struct Both {
    Times gangsim;
    Times gloo;
  };

  const Both& measured() {
    if (!both_) {
      const std::string python = harness::find_python("", "torch");
      both_ = Both{.gangsim = measure({executable_directory() + "/gangsim", "torch", "--world",
                                       processes, "--quiet", script(), "FILE"}),
                   .gloo = measure({python, script(), "FILE", "--gloo", processes})};
    }
    return *both_;
  }

  std::optional<Both> both_;
};

// How much of a call the machine and the callers take without us.
std::string against_floor(double us, const std::string& python, const char* floor) {
  const double least = measure({python, script(), "FILE", floor, processes}).at("small");
  return fmt::format("the same bytes without gangs: {:.3f} ms, {:.2f} x less", least * 1e-3,
                     us / least);
}

Measurement small(Comparison& comparison) {
  const double us = comparison.on_gangsim().at("small");
  const double ratio = comparison.on_gloo().at("small") / us;
  return {.bar = "0.35 ms, 7 x",
          .measured = fmt::format("{:.2f} ms, {:.2f} x", us * 1e-3, ratio),
          .holds = us <= 350 && ratio >= 7,
          .details = against_floor(us, harness::find_python("", "torch"), "--torch-floor")};
}

Measurement not_slower(Comparison& comparison, const char* name) {
  const double ours = comparison.on_gangsim().at(name) * 1e-3;
  const double gloo = comparison.on_gloo().at(name) * 1e-3;
  return {.bar = fmt::format("Gloo's {:.1f} ms", gloo),
          .measured = fmt::format("{:.1f} ms", ours),
          .holds = ours <= gloo};
}

Measurement plain() {
  const double us = measure({executable_directory() + "/gangsim", "python", "--world", processes,
                             "--quiet", script(), "FILE", "--plain"})
                        .at("small");
  return {.bar = "0.13 ms",
          .measured = fmt::format("{:.3f} ms", us * 1e-3),
          .holds = us <= 130,
          .details = against_floor(us, harness::find_python("", ""), "--floor")};
}

// Undecided, with the reason, where something is missing.
std::function<Measurement()> or_reason(std::string bar, std::function<Measurement()> measure) {
  return [bar = std::move(bar), measure = std::move(measure)] {
    try {
      return measure();
    } catch (const NotSupported& missing) {
      return Measurement{.bar = bar, .measured = missing.what(), .holds = std::nullopt};
    }
  };
}

}  // namespace

std::vector<Benchmark> torch_benchmarks() {
  const auto comparison = std::make_shared<Comparison>();
  return {
      {"torch, 8 processes, 4 bytes",
       or_reason("0.35 ms, 7 x", [comparison] { return small(*comparison); })},
      {"torch, 8 processes, 4 MiB",
       or_reason("Gloo's", [comparison] { return not_slower(*comparison, "large"); })},
      {"torch, 8 processes, ddp step",
       or_reason("Gloo's", [comparison] { return not_slower(*comparison, "ddp_step"); })},
      {"python (no torch), 8, 4 bytes", or_reason("0.13 ms", plain)},
  };
}

}  // namespace gang::tools
