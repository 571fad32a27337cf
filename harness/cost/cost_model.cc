#include "harness/cost/cost_model.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 4> times = {{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
constexpr std::array<Unit, 4> speeds = {
    {{"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}}};

// A number >= 0 and one of the units; NaN for any other text.
template <std::size_t n>
double parse_quantity(std::string_view text, const std::array<Unit, n>& units) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || !std::isfinite(number) || number < 0) return std::nan("");
  const std::string_view name(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& unit : units)
    if (unit.name == name) return number * unit.factor;
  return std::nan("");
}

// In the largest unit that keeps the number at least 1.
template <std::size_t n>
std::string quantity_text(double value, const std::array<Unit, n>& units) {
  const Unit* chosen = units.data();
  for (const Unit& unit : units)
    if (value >= unit.factor * (1 - 1e-12)) chosen = &unit;
  return fmt::format("{:.6g}{}", value / chosen->factor, chosen->name);
}

bool moves_parts(OperationKind kind) {
  using enum OperationKind;
  return kind == reduce_scatter || kind == all_gather || kind == all_gather_to_list ||
         kind == all_to_all || kind == gather || kind == scatter;
}

}  // namespace

std::string_view to_string(Link link) noexcept {
  return link == Link::intra_node ? "intra" : "inter";
}

LinkSpeed parse_link_speed(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const double latency = parse_quantity(text.substr(0, colon), times);
    const double bandwidth = parse_quantity(text.substr(colon + 1), speeds);
    if (latency >= 0 && bandwidth > 0) return {latency, bandwidth};
  }
  throw InvalidArgument(
      fmt::format("'{}' is not a link speed; expected LATENCY:BANDWIDTH, as in 3us:300GB/s", text));
}

std::string to_string(const LinkSpeed& speed) {
  return quantity_text(speed.latency_seconds, times) + ":" +
         quantity_text(speed.bytes_per_second, speeds);
}

double bus_factor(OperationKind kind, int size) noexcept {
  const double share = static_cast<double>(size - 1) / size;
  if (kind == OperationKind::all_reduce) return 2 * share;
  return moves_parts(kind) ? share : 1;
}

int latency_count(OperationKind kind, int size) noexcept {
  const int rounds = std::bit_width(static_cast<unsigned>(size - 1));
  if (moves_parts(kind)) return size - 1;
  switch (kind) {
    case OperationKind::all_reduce:
      return 2 * (size - 1);
    case OperationKind::scan:
    case OperationKind::exclusive_scan:
      return size - 1;
    case OperationKind::broadcast:
    case OperationKind::broadcast_objects:
    case OperationKind::reduce:
      return rounds;
    case OperationKind::barrier:
    case OperationKind::monitored_barrier:
      return 2 * rounds;
    case OperationKind::create_gang:
    case OperationKind::split:
      return 0;
    default:
      return 1;
  }
}

double seconds_of(const OperationCost& operation, const CostModel& model) noexcept {
  if (operation.size == 1) return 0;
  const LinkSpeed& speed = model.speed(operation.link);
  return latency_count(operation.kind, operation.size) * speed.latency_seconds +
         bus_factor(operation.kind, operation.size) * static_cast<double>(operation.bytes) /
             speed.bytes_per_second;
}

}  // namespace gang::harness
