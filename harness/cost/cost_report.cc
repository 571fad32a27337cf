#include "harness/cost/cost_report.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace gang::harness {
namespace {

using nlohmann::json;

double bus_bytes_of(const OperationCount& count) {
  return bus_factor(count.kind, count.size) * static_cast<double>(count.bytes);
}

// Sums over all operations of a rank or of all ranks.
struct CostTotals {
  explicit CostTotals(const std::vector<OperationCount>& counts) {
    for (const OperationCount& count : counts) {
      calls += count.calls;
      bytes += count.bytes;
      bus_bytes += bus_bytes_of(count);
      seconds += count.seconds;
    }
  }

  std::uint64_t calls = 0;
  std::int64_t bytes = 0;
  double bus_bytes = 0;
  double seconds = 0;
};

std::string bytes_text(double bytes) {
  constexpr std::array<std::string_view, 6> units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  const bool is_whole = bytes == static_cast<double>(static_cast<std::int64_t>(bytes));
  return fmt::format("{:.{}f} {}", bytes, is_whole ? 0 : 1, units[unit]);
}

std::string time_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

// 12, or 1.5 if the calls do not divide evenly into steps.
std::string count_text(double count) {
  const bool is_whole = count == static_cast<double>(static_cast<std::int64_t>(count));
  return fmt::format("{:.{}f}", count, is_whole ? 0 : 1);
}

class Table {
 public:
  explicit Table(std::int64_t steps) : steps_(static_cast<double>(steps)) {}

  std::string text(const std::vector<OperationCount>& counts) const {
    std::string text =
        line("gang", "size", "link", "operation", "calls", "bytes", "on the bus", "time");
    for (const OperationCount& count : counts)
      text += line(shortened(count.gang), fmt::format("{}", count.size), to_string(count.link),
                   to_string(count.kind), count_text(static_cast<double>(count.calls) / steps_),
                   bytes_text(static_cast<double>(count.bytes) / steps_),
                   bytes_text(bus_bytes_of(count) / steps_), time_text(count.seconds / steps_));
    const CostTotals all(counts);
    return text + line("all", "", "", "", count_text(static_cast<double>(all.calls) / steps_),
                       bytes_text(static_cast<double>(all.bytes) / steps_),
                       bytes_text(all.bus_bytes / steps_), time_text(all.seconds / steps_));
  }

 private:
  static std::string shortened(const std::string& name) {
    constexpr std::size_t most = 8;
    return name.size() <= most ? name : name.substr(0, most - 1) + "~";
  }

  static std::string line(std::string_view gang, std::string_view size, std::string_view link,
                          std::string_view operation, std::string_view calls,
                          std::string_view bytes, std::string_view bus_bytes,
                          std::string_view time) {
    return fmt::format("  {:<8} {:>5} {:<5} {:<16}{:>7}{:>11}{:>11}{:>10}\n", gang, size, link,
                       operation, calls, bytes, bus_bytes, time);
  }

  double steps_;
};

std::string model_text(const CostModel& model) {
  return fmt::format(
      "  Bytes      as nccl-tests counts them; on the bus: times 2(n-1)/n for\n"
      "             all_reduce, (n-1)/n for reduce_scatter, all_gather, all_to_all,\n"
      "             gather, scatter\n"
      "  Time       a L + (bytes on the bus) / B; a is 2(n-1) for all_reduce, n-1 for\n"
      "             reduce_scatter, all_gather, all_to_all, gather, scatter, scans;\n"
      "             log2 n for broadcast, reduce; 2 log2 n for barriers; 1 for\n"
      "             messages, batches\n"
      "  Links      L:B is {} within {} consecutive ranks, else {}\n"
      "  Left out   computation, waiting for other ranks, overlap, congestion\n",
      to_string(model.intra_node), model.ranks_per_node, to_string(model.inter_node));
}

json to_json(const std::vector<OperationCount>& counts) {
  json operations = json::array();
  for (const OperationCount& count : counts) {
    operations.push_back({{"gang", count.gang},
                          {"size", count.size},
                          {"link", to_string(count.link)},
                          {"operation", to_string(count.kind)},
                          {"calls", count.calls},
                          {"bytes", count.bytes},
                          {"bus_bytes", bus_bytes_of(count)},
                          {"seconds", count.seconds}});
  }
  return operations;
}

json to_json(const LinkSpeed& speed) {
  return {{"latency_seconds", speed.latency_seconds}, {"bytes_per_second", speed.bytes_per_second}};
}

json totals_of(const std::vector<OperationCount>& counts) {
  const CostTotals all(counts);
  return {{"calls", all.calls},
          {"bytes", all.bytes},
          {"bus_bytes", all.bus_bytes},
          {"operations", to_json(counts)}};
}

}  // namespace

CostReport make_cost_report(std::string program, std::int64_t steps, const CostModel& model,
                            const RankCounts& counts) {
  CostReport report{.program = std::move(program),
                    .world_size = static_cast<int>(counts.size()),
                    .steps = std::max<std::int64_t>(1, steps),
                    .model = model};
  OperationSums sums;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    const double seconds = CostTotals(counts[rank]).seconds;
    if (rank == 0 || seconds > report.slowest_seconds) {
      report.slowest_rank = static_cast<int>(rank);
      report.slowest_seconds = seconds;
    }
    sums.add(counts[rank]);
  }
  if (!counts.empty()) report.slowest = counts[static_cast<std::size_t>(report.slowest_rank)];
  report.all_ranks = sums.take();
  return report;
}

std::string to_string(const CostReport& report) {
  const Table table(report.steps);
  const double step_seconds = report.slowest_seconds / static_cast<double>(report.steps);
  return fmt::format(
      "Cost of a step: {}, world {}, {} step{}\n\n"
      "  Rank {}, the slowest: {}\n\n{}\n  All ranks together\n\n{}\n{}",
      report.program, report.world_size, report.steps, report.steps == 1 ? "" : "s",
      report.slowest_rank, time_text(step_seconds), table.text(report.slowest),
      table.text(report.all_ranks), model_text(report.model));
}

json to_json(const CostReport& report) {
  json slowest = totals_of(report.slowest);
  slowest["rank"] = report.slowest_rank;
  slowest["seconds"] = report.slowest_seconds;
  return {{"format", "gangsim cost"},
          {"version", 1},
          {"program", report.program},
          {"world", report.world_size},
          {"steps", report.steps},
          {"model",
           {{"ranks_per_node", report.model.ranks_per_node},
            {"intra_node", to_json(report.model.intra_node)},
            {"inter_node", to_json(report.model.inter_node)}}},
          {"slowest_rank", std::move(slowest)},
          {"all_ranks", totals_of(report.all_ranks)}};
}

}  // namespace gang::harness
