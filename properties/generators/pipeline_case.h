// Random pipeline schedules.
#pragma once

#include <string>
#include <vector>

#include "harness/pipeline/stock_schedules.h"
#include "properties/law.h"

namespace gang::properties {

// A correct schedule in a random order: no pass comes before what it needs.
struct RandomSchedule {
  harness::PipelineSchedule schedule;

  friend bool operator==(const RandomSchedule&, const RandomSchedule&) = default;
};
RandomSchedule generate_schedule(Draw& draw);
std::string to_text(const RandomSchedule& one);
std::vector<RandomSchedule> shrinks(const RandomSchedule& one);

// One of the stock schedules, with sizes that it accepts.
struct StockSchedule {
  harness::ScheduleKind kind = harness::ScheduleKind::gpipe;
  harness::PipelineSizes sizes;

  friend bool operator==(const StockSchedule&, const StockSchedule&) = default;
};
std::vector<StockSchedule> all_stock_schedules(int max_ranks);
std::string to_text(const StockSchedule& stock);
std::vector<StockSchedule> shrinks(const StockSchedule& stock);

// A correct schedule spoilt by one mistake: a pass that is missing, computed twice, on another
// rank, or before what it needs.
struct SpoiltSchedule {
  harness::PipelineSchedule schedule;
  std::string mistake;

  friend bool operator==(const SpoiltSchedule&, const SpoiltSchedule&) = default;
};
SpoiltSchedule generate_spoilt_schedule(Draw& draw);
std::string to_text(const SpoiltSchedule& spoilt);
std::vector<SpoiltSchedule> shrinks(const SpoiltSchedule& spoilt);

}  // namespace gang::properties
