// Two ways to do the same thing, timed in pairs.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace gang::benchmarks {

template <typename Call>
double microseconds_of(const Call& call) {
  const auto began = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began)
      .count();
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Microseconds per call.
struct Pair {
  double gang = 0;
  double raw = 0;
};

// `calls` of each, one by one and in turns, so that both meet the same moments of a busy machine.
// They alternate in coming first, since the second finds warm caches and waiting ranks.
template <typename ByGang, typename ByHand>
Pair measure_pair(int calls, const ByGang& by_gang, const ByHand& by_hand) {
  Pair pair;
  for (int call = 0; call < calls; ++call) {
    if (call % 2 == 0) {
      pair.gang += microseconds_of(by_gang);
      pair.raw += microseconds_of(by_hand);
    } else {
      pair.raw += microseconds_of(by_hand);
      pair.gang += microseconds_of(by_gang);
    }
  }
  return {pair.gang / calls, pair.raw / calls};
}

// Over many pairs: microseconds per call, and the ratio of the pairs. On a busy machine the median
// of the sample says little about the true one, which lies between `low` and `high` with 95 %
// confidence.
struct Comparison {
  double gang_us = 0;
  double raw_us = 0;
  double median_ratio = 0;
  double low = 0;
  double high = 0;
};

// `ratios` is sorted and not empty. The number of values below the true median is binomial: n / 2,
// give or take 1.96 standard deviations of sqrt(n) / 2.
inline std::pair<double, double> interval_of_median(const std::vector<double>& ratios) {
  const auto n = static_cast<double>(ratios.size());
  const double reach = 0.98 * std::sqrt(n);
  const auto low = static_cast<std::size_t>(std::max(0.0, std::floor(n / 2 - reach)));
  const auto high = static_cast<std::size_t>(std::ceil(n / 2 + reach));
  return {ratios[low], ratios[std::min(high, ratios.size() - 1)]};
}

// `calls` of each in each of `pairs`, after one pair that does not count.
template <typename ByGang, typename ByHand>
Comparison compare(int calls, int pairs, const ByGang& by_gang, const ByHand& by_hand) {
  measure_pair(calls, by_gang, by_hand);
  std::vector<double> gang_times;
  std::vector<double> raw_times;
  std::vector<double> ratios;
  for (int i = 0; i < pairs; ++i) {
    const Pair pair = measure_pair(calls, by_gang, by_hand);
    gang_times.push_back(pair.gang);
    raw_times.push_back(pair.raw);
    ratios.push_back(pair.gang / pair.raw);
  }
  std::ranges::sort(ratios);
  const auto [low, high] = interval_of_median(ratios);
  return {median(gang_times), median(raw_times), median(ratios), low, high};
}

inline nlohmann::json to_json(const Comparison& comparison) {
  return {{"gang_us", comparison.gang_us},
          {"raw_us", comparison.raw_us},
          {"median_ratio", comparison.median_ratio},
          {"low", comparison.low},
          {"high", comparison.high}};
}

}  // namespace gang::benchmarks
